"""The one thread that uses the database.

Transactions that wait together are committed together, with one write to the disk: that is what makes many
writers fast although each is acknowledged only when it is durable. The thread knows nothing of asyncio but
how to hand back results.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from storage.errors import Unavailable
from storage.interface import Compare, Event, Op, Txn
from storage.sqlite.database import Database, storage_error

GROUP = 128
"""Transactions committed together at most."""
WAITING = 4096
"""Calls that may wait for the thread; more are refused."""

Publish = Callable[[int, Sequence[tuple[Event, ...]]], None]


@dataclass(slots=True)
class _Call:
    function: Callable[[Database], Any] | None
    txn: tuple[Sequence[Compare], Sequence[Op]] | None
    future: asyncio.Future[Any]


class DatabaseThread:
    """Runs calls on the database in order. `publish` is called on the loop with each new revision and the
    events of its transactions, before those who wait for them are told."""

    def __init__(self, database: Database, publish: Publish) -> None:
        self._database = database
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="sqlite", daemon=True)
        self._thread.start()

    def submit(self, function: Callable[[Database], Any]) -> asyncio.Future[Any]:
        """Run a function of the database. Raises Unavailable when closed or overloaded."""
        return self._put(function, None)

    def submit_txn(self, compares: Sequence[Compare], ops: Sequence[Op]) -> asyncio.Future[Any]:
        """Run a transaction together with others. Raises Unavailable when closed or overloaded."""
        return self._put(None, (compares, ops))

    async def close(self) -> None:
        """Finish what is waiting, then close the database."""
        if self._closed:
            return
        self._closed = True
        self._calls.put(None)
        await asyncio.to_thread(self._thread.join)

    def _put(
        self, function: Callable[[Database], Any] | None, txn: tuple[Sequence[Compare], Sequence[Op]] | None
    ) -> asyncio.Future[Any]:
        if self._closed:
            raise Unavailable("the store is closed")
        if self._calls.qsize() >= WAITING:
            raise Unavailable("too many calls wait for the database")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._calls.put(_Call(function, txn, future))
        return future

    # On the thread

    def _work(self) -> None:
        try:
            while self._round():
                pass
        finally:
            self._database.close()

    def _round(self) -> bool:
        """Do what is waiting, in order; transactions that follow each other go together.
        False: there is no more."""
        calls = [self._calls.get()]
        while len(calls) < GROUP and calls[-1] is not None:
            try:
                calls.append(self._calls.get_nowait())
            except Empty:
                break
        group: list[_Call] = []
        for call in calls:
            if call is not None and call.txn is not None:
                group.append(call)
                continue
            self._commit(group)
            group = []
            if call is None:
                return False
            self._run(call)
        self._commit(group)
        return True

    def _run(self, call: _Call) -> None:
        assert call.function is not None
        try:
            result = call.function(self._database)
        except Exception as error:
            self._tell(_fail, call.future, _as_storage_error(error))
        else:
            self._tell(_succeed, call.future, result)

    def _commit(self, group: list[_Call]) -> None:
        if not group:
            return
        try:
            outcomes = self._database.commit([call.txn for call in group if call.txn is not None])
        except Exception as error:
            for call in group:
                self._tell(_fail, call.future, _as_storage_error(error))
            return
        events = [events for _, events in outcomes if events]
        self._tell(self._finish, self._database.revision, events, [call.future for call in group], outcomes)

    def _tell(self, function: Callable[..., None], *args: Any) -> None:
        # The loop may be closed already when the process is going down: then nobody waits any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *args)

    # On the loop

    def _finish(
        self,
        revision: int,
        events: Sequence[tuple[Event, ...]],
        futures: list[asyncio.Future[Any]],
        outcomes: Sequence[tuple[Txn, tuple[Event, ...]]],
    ) -> None:
        self._publish(revision, events)
        for future, (txn, _) in zip(futures, outcomes, strict=True):
            _succeed(future, txn)


def _succeed(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _as_storage_error(error: Exception) -> Exception:
    return storage_error(error) if isinstance(error, sqlite3.Error) else error
