"""The part of a watch cache that belongs to one bucket (in practice: one resource).

A bucket has the live entries in key order and the window: a log of the latest changes, which any number of
subscriptions read with a cursor of their own. There is no queue for each watcher, so a slow reader costs
nothing; it is cut with `Expired` when the log has passed it. This file must not know where changes come from.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from storage.errors import Expired
from storage.rows import Rows

T = TypeVar("T")

BATCH_STEPS = 512
"""A subscription hands out at most so many revisions at once, so that one reader
cannot hold the event loop."""

ITERATION_TIMEOUT = 60.0
"""Seconds after which `async for` over a subscription looks around once, changes or not."""


@dataclass(slots=True, eq=False)
class Entry(Generic[T]):
    """A live object: its stored bytes and what the view function made of them. Never changed once made."""

    key: bytes
    value: bytes
    mod_revision: int
    create_revision: int
    view: T


@dataclass(slots=True, eq=False)
class Change(Generic[T]):
    """One change of one key. `current` is None for a deletion, `previous` is None for a creation. `memo`
    keeps encodings of the change, made by the first watcher for all the others."""

    revision: int
    key: bytes
    current: Entry[T] | None
    previous: Entry[T] | None
    memo: dict[Any, bytes] = field(default_factory=dict)

    def size(self) -> int:
        """Bytes of the values that this change keeps alive."""
        return sum(len(entry.value) for entry in (self.current, self.previous) if entry is not None)


@dataclass(slots=True, eq=False)
class Step(Generic[T]):
    """The changes of one revision."""

    revision: int
    changes: tuple[Change[T], ...]
    size: int


def below(prefix: bytes) -> bytes:
    """The end of the range of keys that `prefix` selects: everything below it when it ends with a slash, else
    the one key that it is."""
    return prefix[:-1] + b"0" if prefix.endswith(b"/") else prefix + b"\x00"


class Bucket(Generic[T]):
    """The entries and the window of one bucket.
    `floor` is the oldest revision that a watch may start after."""

    def __init__(self, name: bytes, floor: int, window: int, window_bytes: int) -> None:
        self.name = name
        self.floor = floor
        self.closed = False
        self._window = window
        self._window_bytes = window_bytes
        self._rows: Rows[Entry[T]] = Rows([])
        self._log: dict[int, Step[T]] = {}
        self._log_bytes = 0
        self._first = 0
        self._next = 0
        self._sleepers: dict[bytes, set[asyncio.Future[int]]] = {}

    # Entries

    def load(self, entries: list[Entry[T]]) -> None:
        """Take these entries, in key order, instead of the present ones; the window is not touched."""
        self._rows = Rows(entries)

    def put(self, entry: Entry[T]) -> None:
        """Insert or replace an entry."""
        self._rows.put(entry)

    def remove(self, key: bytes) -> None:
        """Remove an entry that is there."""
        self._rows.remove(key)

    def entries(self, prefix: bytes, start: bytes) -> list[Entry[T]]:
        """The entries that a prefix selects, from a key on, in key order: a new list."""
        return self._rows.between(max(prefix, start), below(prefix))

    def count(self, prefix: bytes) -> int:
        """How many entries a prefix selects."""
        return self._rows.count(prefix, below(prefix))

    # The window

    def append(self, revision: int, changes: Iterable[Change[T]]) -> None:
        """Log the changes of one revision and wake those who watch the keys."""
        step = Step(revision, tuple(changes), 0)
        step.size = sum(change.size() for change in step.changes)
        number = self._next
        self._log[number] = step
        self._next += 1
        self._log_bytes += step.size
        while self._next - self._first > self._window or (
            self._log_bytes > self._window_bytes and self._next - self._first > 1
        ):
            self._drop_oldest()
        if self._sleepers:
            for change in step.changes:
                self._wake(change.key, number)

    def close(self) -> None:
        """End all subscriptions with `Expired`."""
        self.closed = True
        for sleepers in self._sleepers.values():
            _rouse(sleepers, self._next)
        self._sleepers.clear()

    def position(self, revision: int) -> int:
        """The cursor of the first step above a revision. Raises Expired when it has left the window."""
        if revision < self.floor:
            raise Expired(self.floor)
        return (
            bisect_right(
                range(self._first, self._next), revision, key=lambda number: self._log[number].revision
            )
            + self._first
        )

    def read(self, cursor: int) -> list[Step[T]]:
        """The next steps from a cursor on, a bounded number. Raises Expired when the window has passed it."""
        if self.closed or cursor < self._first:
            raise Expired(self.floor)
        return [self._log[number] for number in range(cursor, min(self._next, cursor + BATCH_STEPS))]

    def at_end(self, cursor: int) -> bool:
        """Whether nothing follows this cursor."""
        return cursor >= self._next

    def _drop_oldest(self) -> None:
        step = self._log.pop(self._first)
        self._first += 1
        self._log_bytes -= step.size
        self.floor = step.revision

    # Sleeping and waking: a sleeper is filed under its prefix and woken only by keys that the prefix selects.

    async def sleep(self, prefix: bytes, timeout: float) -> int:
        """Wait until a key that the prefix selects changes, or the time (seconds) is over.

        Gives the cursor to go on from: no step before it has anything for this prefix, however many there
        were meanwhile."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        alarm = loop.call_later(timeout, lambda: _finish(future, self._next))
        sleepers = self._sleepers.setdefault(prefix, set())
        sleepers.add(future)
        try:
            return await future
        finally:
            alarm.cancel()
            sleepers.discard(future)
            if not sleepers and self._sleepers.get(prefix) is sleepers:
                del self._sleepers[prefix]

    def _wake(self, key: bytes, number: int) -> None:
        _rouse(self._sleepers.pop(key, ()), number)
        slash = key.find(b"/")
        while slash >= 0:
            _rouse(self._sleepers.pop(key[: slash + 1], ()), number)
            slash = key.find(b"/", slash + 1)


class Subscription(Generic[T]):
    """A reader of the changes that a prefix selects, above a revision, without gaps or repeats.

    It owns nothing: one that is no longer read needs no closing.
    """

    def __init__(self, bucket: Bucket[T], prefix: bytes, after: int, reached: Callable[[], int]) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._end = below(prefix)
        self._after = after
        self._reached = reached
        self._cursor = bucket.position(after)

    @property
    def revision(self) -> int:
        """Every change up to this revision has been handed out. It also moves when only other keys change."""
        if self._bucket.at_end(self._cursor) and not self._bucket.closed:
            self._after = max(self._after, self._reached())
        return self._after

    async def next(self, timeout: float) -> tuple[int, list[Change[T]]]:
        """The next changes and the revision up to which everything has been handed out now. Without a change
        in `timeout` seconds the list is empty. Raises Expired when this reader is slower than the window."""
        deadline = asyncio.get_running_loop().time() + timeout
        while True:
            changes = self._take()
            if changes:
                return self.revision, changes
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return self.revision, []
            if self._bucket.at_end(self._cursor):
                # What others did meanwhile does not make this reader a slow one.
                self._cursor = max(self._cursor, await self._bucket.sleep(self._prefix, left))
            else:
                await asyncio.sleep(0)

    async def __aiter__(self) -> AsyncIterator[tuple[int, list[Change[T]]]]:
        """Batches of changes, for ever. Raises Expired when this reader is slower than the window."""
        while True:
            revision, changes = await self.next(ITERATION_TIMEOUT)
            if changes:
                yield revision, changes

    def _take(self) -> list[Change[T]]:
        steps = self._bucket.read(self._cursor)
        if not steps:
            return []
        after, prefix, end = self._after, self._prefix, self._end
        self._cursor += len(steps)
        self._after = max(after, steps[-1].revision)
        return [
            change
            for step in steps
            if step.revision > after
            for change in step.changes
            if prefix <= change.key < end
        ]


def _finish(future: asyncio.Future[int], number: int) -> None:
    if not future.done():
        future.set_result(number)


def _rouse(sleepers: Iterable[asyncio.Future[int]], number: int) -> None:
    for sleeper in sleepers:
        _finish(sleeper, number)
