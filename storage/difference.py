"""What has changed between two states of a cache, told as changes at revisions.

Needed when history was compacted before it could be watched. Intermediate changes are lost, but what is told
is true and in order: updates and creations at their own revisions, a key that was deleted and made again as
both. Only for keys that are gone is the revision not known: they are told at the revision of the new state,
by which they were gone for certain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from storage.bucket import Change, Entry

T = TypeVar("T")


def difference(
    old: Mapping[bytes, Entry[T]], new: Mapping[bytes, Entry[T]], revision: int
) -> list[tuple[int, list[Change[T]]]]:
    """The changes that lead from `old` to `new`, the state at `revision`,
    grouped by revision in rising order."""
    steps: dict[int, list[Change[T]]] = {}

    def tell(at: int, key: bytes, current: Entry[T] | None, previous: Entry[T] | None) -> None:
        steps.setdefault(at, []).append(Change(at, key, current, previous))

    for key, entry in new.items():
        known = old.get(key)
        if known is None:
            tell(entry.mod_revision, key, entry, None)
        elif known.create_revision != entry.create_revision:
            # A deletion takes a revision of its own, so the one before the creation is above the old state.
            tell(entry.create_revision - 1, key, None, known)
            tell(entry.mod_revision, key, entry, None)
        elif known.mod_revision != entry.mod_revision:
            tell(entry.mod_revision, key, entry, known)
    for key, known in old.items():
        if key not in new:
            tell(revision, key, None, known)
    return sorted(steps.items())
