"""A watch cache: the live state of everything below one prefix, kept up to date by a watch on the store.

It answers reads from memory at a revision that was checked against the store, and serves any number of
watchers from one stream. It must not know what the values mean: the caller gives a `view` function that
parses what it needs, and a `bucket` function that says which keys belong together.

Everything here runs on one event loop; the events of a batch are applied without giving up control, so a
transaction is seen whole or not at all.

Keeping up with the store is a small state machine (`Phase`): LISTING → WATCHING → WAITING → WATCHING …, back
to LISTING only when the history that the watch needs has been compacted.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Generic, TypeVar

from storage.bucket import Bucket, Change, Entry, Subscription, below
from storage.difference import difference
from storage.errors import Compacted, Expired, FutureRevision, StorageError, Unavailable
from storage.freshness import RevisionReader, RevisionWaiters
from storage.interface import Batch, Event, KeyValue, Store, Watch

__all__ = ["Change", "Entry", "Phase", "Subscription", "WatchCache", "below"]

T = TypeVar("T")

PAGE = 1000
"""Keys in one page of a list."""
BACKOFF_FIRST = 0.05
BACKOFF_MOST = 5.0
"""Seconds between attempts to reach the store; jittered by half."""
HEARTBEAT = 5.0
"""Seconds of silence after which the store is asked for its revision."""
STALL = 10.0
"""Seconds that the watch may lag behind the store, although asked for progress, before it is opened anew."""
NUDGE_FIRST = 0.002
NUDGE_MOST = 0.1
"""Seconds between requests for progress while the cache lags."""


class Phase(Enum):
    """What the cache does to keep up with the store."""

    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"


class _Restored(Exception):  # noqa: N818 - a signal, not an error
    """The store is at a lower revision than it has been: it was restored or replaced."""


class WatchCache(Generic[T]):
    """See the module. `view` parses a value; when it raises, the object is kept out, counted in `rejected`
    and told to `on_reject`. `window` is the number of revisions, and `window_bytes` the size of values, that
    each bucket remembers.
    """

    def __init__(
        self,
        store: Store,
        prefix: bytes,
        view: Callable[[KeyValue], T],
        *,
        bucket: Callable[[bytes], bytes],
        window: int = 8192,
        window_bytes: int = 64 << 20,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_reject: Callable[[bytes, Exception], None] | None = None,
        on_phase: Callable[[Phase, StorageError | None], None] | None = None,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._view = view
        self._bucket_of = bucket
        self._window = window
        self._window_bytes = window_bytes
        self._clock = clock
        self._sleep = sleep
        self._on_reject = on_reject
        self._on_phase = on_phase
        self._rejected: set[bytes] = set()
        self._reset()
        self._reader = RevisionReader(self._ask_revision, heartbeat=HEARTBEAT)
        self.last_heard = clock()
        """When the store was last heard of, by `clock`."""
        self.relists = 0
        """How often everything had to be listed anew because history was gone."""

    # State

    @property
    def ready(self) -> bool:
        """Whether the state has been listed once; it stays true while the store is out of reach."""
        return self._ready.is_set()

    @property
    def revision(self) -> int:
        """Every change up to this revision has been applied."""
        return self._revision

    @property
    def rejected(self) -> int:
        """How many objects are kept out because the view function refused them."""
        return len(self._rejected)

    @property
    def phase(self) -> Phase:
        """What the cache is doing to keep up."""
        return self._phase

    async def wait_ready(self) -> None:
        """Wait for the first complete state."""
        await self._ready.wait()

    # Reading

    def get(self, key: bytes) -> Entry[T] | None:
        """One entry as of `revision`."""
        return self._entries.get(key)

    def entries(self, prefix: bytes, start: bytes = b"") -> Sequence[Entry[T]]:
        """The entries that a prefix selects as of `revision`, in key order, from a key on (inclusive). The
        prefix lies within one bucket; it ends with a slash and selects what is below it, or is one whole
        key."""
        bucket = self._buckets.get(self._bucket_of(prefix))
        return bucket.entries(prefix, start) if bucket else ()

    def count(self, prefix: bytes) -> int:
        """How many entries a prefix selects."""
        bucket = self._buckets.get(self._bucket_of(prefix))
        return bucket.count(prefix) if bucket else 0

    async def fresh(self, timeout: float) -> int:
        """Wait until the cache holds everything that was in the store when this call began, and return
        `revision`. The store is asked once for all callers of a moment. Raises Unavailable after `timeout`
        seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._ready.wait()
                revision = await self._reader.ask()
                if revision > self._revision:
                    await self._waiters.wait(revision)
        except TimeoutError:
            self._waiters.sweep()
            raise Unavailable("the watch cache did not catch up with the store in time") from None
        return self._revision

    async def wait_for(self, revision: int, timeout: float) -> None:
        """Wait until the cache has reached a revision. Raises FutureRevision after `timeout` seconds."""
        if revision <= self._revision and self.ready:
            return
        try:
            async with asyncio.timeout(timeout):
                await self._ready.wait()
                await self._reader.ask()
                if revision > self._revision:
                    await self._waiters.wait(revision)
        except TimeoutError:
            self._waiters.sweep()
            raise FutureRevision(self._revision) from None

    def watch(self, prefix: bytes, from_revision: int) -> Subscription[T]:
        """The changes above a revision that a prefix selects (as for `entries`). Raises Expired when the
        window does not reach back so far."""
        for low, high in self._gaps:
            if low < from_revision < high:
                raise Expired(high)
        return Subscription(
            self._bucket(self._bucket_of(prefix)), prefix, from_revision, lambda: self._revision
        )

    # Keeping up

    async def run(self) -> None:
        """Keep up with the store until cancelled. Raises only what is a fault of the program."""
        while True:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._follow(), name="watch cache: follow")
                    group.create_task(self._reader.run(), name="watch cache: read revisions")
                    group.create_task(self._nudge(), name="watch cache: nudge")
            except* _Restored:
                for bucket in self._buckets.values():
                    bucket.close()
                self._reset()

    def _reset(self) -> None:
        self._phase = Phase.LISTING
        self._ready = asyncio.Event()
        self._revision = 0
        self._target = 0
        self._floor = 0
        self._entries: dict[bytes, Entry[T]] = {}
        self._buckets: dict[bytes, Bucket[T]] = {}
        self._gaps: list[tuple[int, int]] = []
        self._waiters = RevisionWaiters()
        self._lagging = asyncio.Event()
        self._stream: Watch | None = None
        self._deadline: asyncio.Timeout | None = None

    async def _follow(self) -> None:
        failures = 0
        while True:
            before = self._revision
            try:
                if self._phase is Phase.LISTING:
                    await self._list()
                    self._enter(Phase.WATCHING)
                await self._watch()
            except Compacted as error:
                self._enter(Phase.LISTING, error)
                resume = Phase.LISTING
            except StorageError as error:
                resume = self._phase
                self._enter(Phase.WAITING, error)
            failures = 0 if self._revision > before else failures + 1
            if failures or self._phase is Phase.WAITING:
                await self._sleep(_backoff(failures))
            self._phase = resume

    def _enter(self, phase: Phase, error: StorageError | None = None) -> None:
        self._phase = phase
        if self._on_phase is not None:
            self._on_phase(phase, error)

    async def _list(self) -> None:
        found: dict[bytes, Entry[T]] = {}
        rejected: set[bytes] = set()
        page = await self._store.list(self._prefix, limit=PAGE)
        revision = page.revision
        while True:
            for item in page.items:
                entry = self._parse(item)
                if entry is None:
                    rejected.add(item.key)
                else:
                    found[item.key] = entry
            self.last_heard = self._clock()
            if not page.more:
                break
            start = page.items[-1].key + b"\x00"
            page = await self._store.list(self._prefix, start=start, limit=PAGE, revision=revision)
        self._rejected = rejected
        if revision < self._revision:
            raise _Restored
        if self.ready:
            self._replace(found, revision)
        else:
            self._load(found, revision)

    def _load(self, found: dict[bytes, Entry[T]], revision: int) -> None:
        self._floor = revision
        for bucket in self._buckets.values():
            bucket.close()
        self._buckets = {}
        self._entries = found
        grouped: dict[bytes, list[Entry[T]]] = {}
        for key in sorted(found):
            grouped.setdefault(self._bucket_of(key), []).append(found[key])
        for name, entries in grouped.items():
            self._bucket(name).load(entries)
        self._advance(revision)
        self._ready.set()

    def _replace(self, found: dict[bytes, Entry[T]], revision: int) -> None:
        """After a relist: what differs is told to the watchers as changes. A watch can be opened at a
        revision before the gap or after it, not inside, where the order of events is not known."""
        self.relists += 1
        self._gaps = [*self._gaps[-7:], (self._revision, revision)]
        for at, changes in difference(self._entries, found, revision):
            self._record(at, changes)
        self._advance(revision)

    async def _watch(self) -> None:
        async with (
            self._store.watch(self._prefix, self._revision + 1) as stream,
            _interruptible() as self._deadline,
        ):
            self._stream = stream
            try:
                async for batch in stream:
                    self._apply(batch)
            finally:
                self._stream = None
                self._deadline = None
        raise Unavailable("the watch has ended")

    def _apply(self, batch: Batch) -> None:
        self.last_heard = self._clock()
        events = batch.events
        index = 0
        while index < len(events):
            revision = events[index].revision
            changes: list[Change[T]] = []
            while index < len(events) and events[index].revision == revision:
                change = self._change(events[index])
                if change is not None:
                    changes.append(change)
                index += 1
            self._record(revision, changes)
        self._advance(batch.revision)

    def _change(self, event: Event) -> Change[T] | None:
        previous = self._entries.get(event.key)
        current = None if event.current is None else self._parse(event.current)
        if event.current is not None and current is None:
            self._rejected.add(event.key)
        else:
            self._rejected.discard(event.key)
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

    def _advance(self, revision: int) -> None:
        if revision > self._revision:
            self._revision = revision
            self._waiters.reached(revision)

    # Being behind

    async def _ask_revision(self) -> int:
        before = self._revision
        revision = await self._store.revision()
        if revision < before:
            raise _Restored
        self.last_heard = self._clock()
        if revision > self._target:
            self._target = revision
            if revision > self._revision:
                self._lagging.set()
        return revision

    async def _nudge(self) -> None:
        """While the cache is behind the store, ask for progress: maybe only other keys have changed. A stream
        that does not move for long is given up."""
        while True:
            await self._lagging.wait()
            self._lagging.clear()
            since, delay = self._clock(), NUDGE_FIRST
            while (goal := self._target) > self._revision:
                before = self._revision
                await self._sleep(delay)
                if self._revision >= goal:
                    break
                if self._revision > before:
                    since = self._clock()
                if self._stream is not None:
                    await self._stream.request_progress()
                if self._deadline is not None and self._clock() - since > STALL:
                    self._deadline.reschedule(asyncio.get_running_loop().time())
                    since = self._clock()
                delay = min(delay * 4, NUDGE_MOST)


class _interruptible:  # noqa: N801 - used like a function
    """A scope that another task can end through `asyncio.Timeout.reschedule`; it then raises Unavailable."""

    def __init__(self) -> None:
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> asyncio.Timeout:
        return await self._timeout.__aenter__()

    async def __aexit__(self, *args: object) -> None:
        try:
            await self._timeout.__aexit__(*args)  # type: ignore[arg-type]
        except TimeoutError:
            raise Unavailable("the watch has stalled") from None


def _backoff(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    longest = min(BACKOFF_MOST, BACKOFF_FIRST * 2.0 ** min(failures, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
