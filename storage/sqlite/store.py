"""The asynchronous face of the SQLite store. It must not touch the database itself:
the database's thread does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from storage.errors import Ambiguous, Unavailable
from storage.interface import Batch, Compare, Event, Op, Page, Read, Txn
from storage.ranges import MAX_BYTES, MAX_OPS, check_txn
from storage.sqlite.database import Database
from storage.sqlite.thread import DatabaseThread
from storage.sqlite.watch import SQLiteWatch

R = TypeVar("R")

TIMEOUT = 10.0
"""Seconds that a call may take."""


class SQLiteStore:
    """See `storage.interface.Store`. Made by `open`."""

    def __init__(self, database: Database, *, max_ops: int, max_bytes: int, timeout: float) -> None:
        self._revision = database.revision
        self._max_ops = max_ops
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._watches: set[SQLiteWatch] = set()
        self._thread = DatabaseThread(database, self._publish)
        self._closed = False

    @classmethod
    async def open(
        cls,
        path: Path | None,
        *,
        max_ops: int = MAX_OPS,
        max_bytes: int = MAX_BYTES,
        timeout: float = TIMEOUT,
    ) -> SQLiteStore:
        """Open or create a file (None: in memory, gone when closed). Raises Locked when another process has
        it open, Unavailable when it is no such file."""
        database = await asyncio.to_thread(Database, path)
        return cls(database, max_ops=max_ops, max_bytes=max_bytes, timeout=timeout)

    async def get(self, key: bytes, *, revision: int = 0) -> Read:
        """Read one key, now or as of a revision."""
        return await self._read(lambda database: database.get(key, revision))

    async def list(self, prefix: bytes, *, start: bytes = b"", limit: int = 0, revision: int = 0) -> Page:
        """Read the keys below a prefix, now or as of a revision."""
        return await self._read(lambda database: database.list(prefix, start, limit, revision))

    async def txn(self, compares: Sequence[Compare], ops: Sequence[Op]) -> Txn:
        """If all compares hold, do all ops at one new revision. It is durable when this returns."""
        check_txn(compares, ops, max_ops=self._max_ops, max_bytes=self._max_bytes)
        future = self._thread.submit_txn(tuple(compares), tuple(ops))
        try:
            async with asyncio.timeout(self._timeout):
                outcome: Txn = await future
        except TimeoutError:
            raise Ambiguous("the database took too long; the transaction may still be done") from None
        return outcome

    @asynccontextmanager
    async def watch(self, prefix: bytes, start_revision: int) -> AsyncIterator[SQLiteWatch]:
        """Watch the keys below a prefix from a revision on (0: from now on)."""
        if self._closed:
            raise Unavailable("the store is closed")
        start = start_revision or self._revision + 1
        watch = SQLiteWatch(prefix, start, lambda: self._revision, self._history)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)

    async def revision(self) -> int:
        """The revision of the last transaction that was acknowledged: nothing but this process writes."""
        if self._closed:
            raise Unavailable("the store is closed")
        return self._revision

    async def compact(self, revision: int) -> None:
        """Forget the history before a revision and free its space, bit by bit.
        Raises FutureRevision, Unavailable."""
        await self._read(lambda database: database.compact(revision))
        while await self._read(lambda database: database.purge()):
            pass

    async def close(self) -> None:
        """Finish what is waiting, close the file and end all watches."""
        self._closed = True
        for watch in self._watches:
            watch.close()
        await self._thread.close()

    async def _history(self, prefix: bytes, start: int, end: int) -> Batch:
        return await self._read(lambda database: database.history(prefix, start, end))

    async def _read(self, function: Callable[[Database], R]) -> R:
        future: asyncio.Future[R] = self._thread.submit(function)
        try:
            async with asyncio.timeout(self._timeout):
                return await future
        except TimeoutError:
            raise Unavailable("the database took too long") from None

    def _publish(self, revision: int, events: Sequence[tuple[Event, ...]]) -> None:
        self._revision = revision
        for together in events:
            for watch in self._watches:
                watch.publish(together[0].revision, together)
