"""list: many objects at one revision, whole or in pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from apiserver.machinery import errors
from apiserver.machinery.options import EXACT, ListOptions
from apiserver.registry import continuation
from apiserver.registry.continuation import INCONSISTENT, Continuation
from apiserver.registry.faults import storage_faults
from apiserver.registry.selection import Selection, key_range
from apiserver.registry.store import ResourceStore
from apiserver.registry.verbs.get import parse_version, wait_for_version
from apiserver.registry.view import View, view_of
from storage.errors import Compacted, FutureRevision

PAGE = 1000
"""Keys that are read from storage at once for a list at an old revision."""

_VIEW = attrgetter("view")

_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an inconsistent "
    "list - objects that were created, modified, or deleted between the time the first chunk was returned "
    "and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Listing:
    """A page. `remaining` is None when it is not known (selectors) or nothing is left."""

    views: tuple[View, ...]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

    @property
    def metadata(self) -> dict[str, object]:
        """The ListMeta."""
        metadata: dict[str, object] = {"resourceVersion": str(self.revision)}
        if self.continue_token:
            metadata["continue"] = self.continue_token
        if self.remaining:
            metadata["remainingItemCount"] = self.remaining
        return metadata


async def list_objects(store: ResourceStore, selection: Selection, options: ListOptions) -> Listing:
    """The objects that are selected. Raises 400, 410, 422, 503, 504."""
    prefix, at_most_one = key_range(store, selection)
    limit = 0 if at_most_one else max(options.limit, 0)
    if options.continue_token:
        return await _continued(store, selection, prefix, limit, options)
    version = options.resource_version
    at = parse_version(version) if version else 0
    exact = options.resource_version_match == EXACT or (
        at > 0 and limit > 0 and not options.resource_version_match
    )
    if exact and at:
        return await _at_revision(store, selection, prefix, b"", limit, at)
    revision = await wait_for_version(store, version)
    # A list of "any" revision ignores its limit, as one from upstream's watch cache does.
    return _from_cache(store, selection, prefix, b"", 0 if version == "0" else limit, revision)


async def _continued(
    store: ResourceStore, selection: Selection, prefix: bytes, limit: int, options: ListOptions
) -> Listing:
    if options.resource_version not in ("", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    token = continuation.decode(options.continue_token)
    start = prefix + token.start.encode()
    if options.resource_version == "0":
        limit = 0
    if token.revision == INCONSISTENT:
        revision = await store.fresh()
        return _from_cache(store, selection, prefix, start, limit, revision)
    try:
        return await _at_revision(store, selection, prefix, start, limit, token.revision)
    except errors.APIError as error:
        if error.code != 410:
            raise
        fresh = continuation.encode(Continuation(INCONSISTENT, token.start))
        raise errors.expired(_EXPIRED, continue_token=fresh) from error


def _from_cache(
    store: ResourceStore, selection: Selection, prefix: bytes, start: bytes, limit: int, revision: int
) -> Listing:
    entries = store.cache.entries(prefix, start)
    if not limit:
        if selection.everything:
            return Listing(tuple(map(_VIEW, entries)), revision)
        matches = selection.matches
        return Listing(tuple(entry.view for entry in entries if matches(entry.view)), revision)
    found = (
        (entry.key, entry.view, position)
        for position, entry in enumerate(entries)
        if selection.everything or selection.matches(entry.view)
    )
    return _page(selection, prefix, found, limit, revision, len(entries))


def _page(
    selection: Selection,
    prefix: bytes,
    found: Iterable[tuple[bytes, View, int]],
    limit: int,
    revision: int,
    total: int,
) -> Listing:
    """One page out of the matches: key, view, and position among all `total` keys
    from the start of the page."""
    page: list[tuple[bytes, View, int]] = list(islice(found, limit))
    if len(page) < limit or page[-1][2] == total - 1:
        return Listing(tuple(view for _, view, _ in page), revision)
    # Whether anything of what follows is selected is not looked at: the last page may be empty, as upstream.
    key, _, position = page[-1]
    start = (key[len(prefix) :] + b"\x00").decode()
    token = continuation.encode(Continuation(revision, start))
    remaining = total - position - 1 if selection.everything else None
    return Listing(tuple(view for _, view, _ in page), revision, token, remaining)


async def _at_revision(
    store: ResourceStore, selection: Selection, prefix: bytes, start: bytes, limit: int, revision: int
) -> Listing:
    """What storage held at a revision; from memory when nothing of this resource has changed since."""
    views: list[tuple[bytes, View, int]] = []
    cursor, position, wanted = start, 0, limit or None
    total = 0
    while True:
        try:
            with storage_faults(revision):
                page = await store.storage.list(
                    prefix, start=cursor, limit=min(limit + 1, PAGE) if limit else PAGE, revision=revision
                )
        except errors.APIError as error:
            cause = error.__cause__
            if isinstance(cause, Compacted):
                raise errors.expired("The resourceVersion for the provided list is too old.") from error
            if isinstance(cause, FutureRevision):
                await store.cache_reaches(revision)
                continue
            raise
        total = position + len(page.items) + page.remaining
        for item in page.items:
            view = view_of(store.resource, item)
            if selection.everything or selection.matches(view):
                views.append((item.key, view, position))
            position += 1
        if not page.more or (wanted is not None and len(views) >= wanted):
            break
        cursor = page.items[-1].key + b"\x00"
    if not limit:
        return Listing(tuple(view for _, view, _ in views), revision)
    return _page(selection, prefix, views, limit, revision, total)
