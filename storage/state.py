"""The state of a watch cache: live entries by key and by bucket, and how events and relists change it.

Synchronous throughout, so nothing can be seen half done. It must not know of stores or of waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Generic, TypeVar

from storage.bucket import Bucket, Change, Entry, Subscription
from storage.difference import difference
from storage.errors import Expired
from storage.interface import Batch, Event, KeyValue

T = TypeVar("T")

GAPS = 8
"""Relists whose inside is remembered as closed to new watches."""


class CacheState(Generic[T]):
    """See the module. The parameters are those of `WatchCache`."""

    def __init__(
        self,
        view: Callable[[KeyValue], T],
        bucket: Callable[[bytes], bytes],
        window: int,
        window_bytes: int,
        on_reject: Callable[[bytes, Exception], None] | None,
    ) -> None:
        self._view = view
        self._bucket_of = bucket
        self._window = window
        self._window_bytes = window_bytes
        self._on_reject = on_reject
        self._entries: dict[bytes, Entry[T]] = {}
        self._buckets: dict[bytes, Bucket[T]] = {}
        self._gaps: list[tuple[int, int]] = []
        self._floor = 0
        self.revision = 0
        self.rejected: set[bytes] = set()

    # Reading

    def get(self, key: bytes) -> Entry[T] | None:
        """One entry."""
        return self._entries.get(key)

    def entries(self, prefix: bytes, start: bytes) -> Sequence[Entry[T]]:
        """The entries that a prefix selects, in key order, from a key on."""
        bucket = self._buckets.get(self._bucket_of(prefix))
        return bucket.entries(prefix, start) if bucket else ()

    def count(self, prefix: bytes) -> int:
        """How many entries a prefix selects."""
        bucket = self._buckets.get(self._bucket_of(prefix))
        return bucket.count(prefix) if bucket else 0

    def watch(self, prefix: bytes, from_revision: int) -> Subscription[T]:
        """The changes above a revision that a prefix selects. Raises Expired."""
        for low, high in self._gaps:
            if low < from_revision < high:
                raise Expired(high)
        bucket = self._bucket(self._bucket_of(prefix))
        return Subscription(bucket, prefix, from_revision, lambda: self.revision)

    # Changing

    def close(self) -> None:
        """End all subscriptions with Expired."""
        for bucket in self._buckets.values():
            bucket.close()

    def parse(self, items: Iterable[KeyValue], found: dict[bytes, Entry[T]], rejected: set[bytes]) -> None:
        """Sort items into entries and keys that the view function refuses."""
        for item in items:
            entry = self._parse(item)
            if entry is None:
                rejected.add(item.key)
            else:
                found[item.key] = entry

    def load(self, found: dict[bytes, Entry[T]], rejected: set[bytes], revision: int) -> None:
        """Take the first complete state, or a later one after a gap in history. The difference to what is
        known is told to the watchers as changes. A new watch can start at a revision before the gap or after
        it, not inside, where the order of events is not known."""
        self.rejected = rejected
        if self.revision:
            self._gaps = [*self._gaps[1 - GAPS :], (self.revision, revision)]
            for at, changes in difference(self._entries, found, revision):
                self._record(at, changes)
        else:
            self._fill(found, revision)
        self.revision = revision

    def apply(self, batch: Batch) -> None:
        """Take the events of a watch, revision by revision."""
        for revision, events in groupby(batch.events, key=attrgetter("revision")):
            changes = (self._change(event) for event in events)
            self._record(revision, [change for change in changes if change is not None])
        self.revision = max(self.revision, batch.revision)

    def _fill(self, found: dict[bytes, Entry[T]], revision: int) -> None:
        self.close()  # of those who came before there was a state
        self._buckets = {}
        self._floor = revision
        self._entries = found
        grouped: dict[bytes, list[Entry[T]]] = {}
        for key in sorted(found):
            grouped.setdefault(self._bucket_of(key), []).append(found[key])
        for name, entries in grouped.items():
            self._bucket(name).load(entries)

    def _change(self, event: Event) -> Change[T] | None:
        previous = self._entries.get(event.key)
        current = None if event.current is None else self._parse(event.current)
        if event.current is not None and current is None:
            self.rejected.add(event.key)
        else:
            self.rejected.discard(event.key)
        if previous is None and current is None:
            return None
        return Change(event.revision, event.key, current, previous)

    def _parse(self, item: KeyValue) -> Entry[T] | None:
        try:
            view = self._view(item)
        except Exception as error:  # whatever it is, one bad object must not take the others down
            if self._on_reject is not None:
                self._on_reject(item.key, error)
            return None
        return Entry(item.key, item.value, item.mod_revision, item.create_revision, view)

    def _record(self, revision: int, changes: list[Change[T]]) -> None:
        grouped: dict[bytes, list[Change[T]]] = {}
        for change in changes:
            name = self._bucket_of(change.key)
            bucket = self._bucket(name)
            if change.current is not None:
                self._entries[change.key] = change.current
                bucket.put(change.current)
            elif self._entries.pop(change.key, None) is not None:
                bucket.remove(change.key)
            grouped.setdefault(name, []).append(change)
        for name, together in grouped.items():
            self._buckets[name].append(revision, together)

    def _bucket(self, name: bytes) -> Bucket[T]:
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = Bucket(name, self._floor, self._window, self._window_bytes)
            self._buckets[name] = bucket
        return bucket
