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
from contextlib import suppress
from enum import Enum
from typing import Generic, TypeVar

from storage.bucket import Change, Entry, Subscription
from storage.errors import Compacted, FutureRevision, StorageError, Unavailable
from storage.freshness import RevisionReader, RevisionWaiters
from storage.history import oldest_readable
from storage.interface import KeyValue, Store, Watch
from storage.state import CacheState

__all__ = ["Change", "Entry", "Phase", "Subscription", "WatchCache"]

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


class WatchCache(Generic[T]):
    """See the module. `view` parses a value; when it raises, the object is kept out, counted in `rejected`
    and told to `on_reject`. `window` is the number of revisions, and `window_bytes` the size of values, that
    each bucket remembers. `history` is how many revisions before its start the cache goes back
    to, where the store still has them: watches that were opened on a cache before it then go on.
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
        history: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_reject: Callable[[bytes, Exception], None] | None = None,
        on_phase: Callable[[Phase, StorageError | None], None] | None = None,
    ) -> None:
        self._store = store
        self._history = history
        self._head = 0
        self._prefix = prefix
        self._make_state: Callable[[], CacheState[T]] = lambda: CacheState(
            view, bucket, window, window_bytes, on_reject
        )
        self._clock = clock
        self._sleep = sleep
        self._on_phase = on_phase
        self._phase = Phase.LISTING
        self._state = self._make_state()
        self._ready = asyncio.Event()
        self._waiters = RevisionWaiters()
        self._lagging = asyncio.Event()
        self._target = 0
        self._stream: Watch | None = None
        self._deadline: asyncio.Timeout | None = None
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
        return self._state.revision

    @property
    def rejected(self) -> int:
        """How many objects are kept out because the view function refused them."""
        return len(self._state.rejected)

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
        return self._state.get(key)

    def entries(self, prefix: bytes, start: bytes = b"") -> Sequence[Entry[T]]:
        """The entries that a prefix selects as of `revision`, in key order, from a key on (inclusive).
        The prefix lies within one bucket; it ends with a slash and selects what is
        below it, or is one whole key."""
        return self._state.entries(prefix, start)

    def count(self, prefix: bytes) -> int:
        """How many entries a prefix selects."""
        return self._state.count(prefix)

    async def fresh(self, timeout: float) -> int:
        """Wait until the cache holds everything that was in the store when this call began,
        and return `revision`. The store is asked once for all callers of a moment.
        Raises Unavailable after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._ready.wait()
                revision = await self._reader.ask()
                if revision > self.revision:
                    await self._waiters.wait(revision)
        except TimeoutError:
            self._waiters.sweep()
            raise Unavailable("the watch cache did not catch up with the store in time") from None
        return self.revision

    async def wait_for(self, revision: int, timeout: float) -> None:
        """Wait until the cache has reached a revision. Raises FutureRevision after `timeout` seconds,
        Unavailable when the store cannot be asked."""
        if revision <= self.revision and self.ready:
            return
        try:
            async with asyncio.timeout(timeout):
                await self._ready.wait()
                await self._reader.ask()
                if revision > self.revision:
                    await self._waiters.wait(revision)
        except TimeoutError:
            self._waiters.sweep()
            if not self.ready:
                raise Unavailable("the watch cache has not been filled yet") from None
            raise FutureRevision(self.revision) from None

    def watch(self, prefix: bytes, from_revision: int) -> Subscription[T]:
        """The changes above a revision that a prefix selects (as for `entries`). Raises Expired when the
        window does not reach back so far."""
        return self._state.watch(prefix, from_revision)

    # Keeping up

    async def run(self) -> None:
        """Keep up with the store until cancelled. Raises only what is a fault of the program."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(), name="watch cache: follow")
            group.create_task(self._reader.run(), name="watch cache: read revisions")
            group.create_task(self._nudge(), name="watch cache: nudge")

    def _start_anew(self) -> None:
        """The store is at a lower revision than it has been: it was restored or replaced. Nothing that is
        known holds any more, and no watch can go on."""
        self._state.close()
        self._state = self._make_state()
        self._ready.clear()
        self._target = 0
        self._interrupt()

    def _interrupt(self) -> None:
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time())

    async def _follow(self) -> None:
        failures = 0
        while True:
            before, began = self.revision, self._clock()
            try:
                if self._phase is Phase.LISTING or not self.ready:
                    await self._list()
                    self._enter(Phase.WATCHING)
                await self._watch()
            except Compacted as error:
                self._enter(Phase.LISTING, error)
                resume = Phase.LISTING
            except StorageError as error:
                resume = self._phase
                self._enter(Phase.WAITING, error)
            worked = self.revision > before or self._clock() - began > BACKOFF_MOST
            failures = 0 if worked else failures + 1
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
        head = begin = 0
        if self._history and not self.ready:
            head = await self._store.revision()
            begin = await oldest_readable(self._store, self._prefix, head, self._history)
        page = await self._store.list(self._prefix, limit=PAGE, revision=begin)
        revision = page.revision
        while True:
            self._state.parse(page.items, found, rejected)
            self.last_heard = self._clock()
            if not page.more:
                break
            start = page.items[-1].key + b"\x00"
            page = await self._store.list(self._prefix, start=start, limit=PAGE, revision=revision)
        if revision < self.revision:
            self._start_anew()
        self.relists += self.ready
        self._state.load(found, rejected, revision)
        self._head = max(head, revision)
        self._target = max(self._target, head)
        self._reached()

    def _reached(self) -> None:
        self._waiters.reached(self.revision)
        if self.revision >= self._head:
            self._ready.set()
        else:
            self._lagging.set()

    async def _watch(self) -> None:
        async with (
            self._store.watch(self._prefix, self.revision + 1) as stream,
            _interruptible() as self._deadline,
        ):
            self._stream = stream
            state = self._state
            try:
                async for batch in stream:
                    self.last_heard = self._clock()
                    state.apply(batch)
                    self._reached()
            finally:
                self._stream = None
                self._deadline = None
        raise Unavailable("the watch has ended")

    # Being behind

    async def _ask_revision(self) -> int:
        state, before = self._state, self.revision
        revision = await self._store.revision()
        if revision < before and state is self._state:
            self._start_anew()
            raise Unavailable("the store is at a lower revision than it has been")
        self.last_heard = self._clock()
        if revision > self._target:
            self._target = revision
            if revision > self.revision:
                self._lagging.set()
        return revision

    async def _nudge(self) -> None:
        """While the cache is behind the store, ask for progress: maybe only other keys have changed. A stream
        that does not move for long is given up."""
        while True:
            await self._lagging.wait()
            self._lagging.clear()
            since, delay = self._clock(), NUDGE_FIRST
            while (goal := self._target) > self.revision:
                before = self.revision
                await self._sleep(delay)
                if self.revision >= goal:
                    break
                if self.revision > before:
                    since = self._clock()
                if self._stream is not None:
                    with suppress(TimeoutError):  # then the stream is dead, and found so below
                        async with asyncio.timeout(STALL):
                            await self._stream.request_progress()
                if self._clock() - since > STALL:
                    self._interrupt()
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
