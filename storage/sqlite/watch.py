"""A watch on the SQLite store: history from the database until the present is
reached, then what is published.

What is published waits in a queue of bounded length; a reader that falls behind it goes back to reading
history, so it costs little and misses nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from storage.errors import Unavailable
from storage.interface import Batch, Event
from storage.ranges import end_of_prefix

PENDING = 1024
"""Revisions that may wait for a reader."""

History = Callable[[bytes, int, int], Awaitable[Batch]]


class SQLiteWatch:
    """See `storage.interface.Watch`."""

    def __init__(self, prefix: bytes, start: int, revision: Callable[[], int], history: History) -> None:
        self._prefix = prefix
        self._end = end_of_prefix(prefix)
        self._next = start
        self._revision = revision
        self._history = history
        self._pending: deque[Batch] = deque()
        self._behind = True
        self._progress = False
        self._closed = False
        self._wake = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """Batches without gaps or repeats, for ever.
        Raises Compacted, or Unavailable when the store is closed."""
        while True:
            if self._closed:
                raise Unavailable("the store is closed")
            if self._behind:
                self._pending.clear()
                self._behind = False
                present = self._revision()
                while self._next <= present:
                    batch = await self._history(self._prefix, self._next, present)
                    self._next = batch.revision + 1
                    if batch.events:
                        yield batch
            elif self._pending:
                batch = self._pending.popleft()
                self._next = batch.revision + 1
                yield batch
            elif self._progress:
                self._progress = False
                self._next = max(self._next, self._revision() + 1)
                yield Batch(self._next - 1)
            else:
                self._wake.clear()
                await self._wake.wait()

    async def request_progress(self) -> None:
        """Ask for a batch that says how far the stream has come."""
        self._progress = True
        self._wake.set()

    def publish(self, revision: int, events: tuple[Event, ...]) -> None:
        """Take the events of one new revision."""
        if self._behind or revision < self._next:
            return
        wanted = tuple(
            event
            for event in events
            if event.key >= self._prefix and (not self._end or event.key < self._end)
        )
        if not wanted:
            return
        if len(self._pending) >= PENDING:
            self._behind = True
        else:
            self._pending.append(Batch(revision, wanted))
        self._wake.set()

    def close(self) -> None:
        """End the stream with Unavailable."""
        self._closed = True
        self._wake.set()
