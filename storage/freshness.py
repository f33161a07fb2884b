"""Waiting for revisions: how a watch cache answers consistent reads.

`RevisionReader` asks the store for its revision once for all callers that came before the question was sent.
`RevisionWaiters` holds those who wait until the cache has reached a revision.
Neither knows what a cache holds.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from itertools import count

from storage.errors import StorageError, Unavailable


class RevisionReader:
    """One question for many callers. `run` must be running for `ask` to be answered.

    `heartbeat` is the number of seconds after which the store is asked though nobody wants to know. A failed
    heartbeat is not an error of its own: `read` knows when it last succeeded.
    """

    def __init__(self, read: Callable[[], Awaitable[int]], *, heartbeat: float) -> None:
        self._read = read
        self._heartbeat = heartbeat
        self._wanted = asyncio.Event()
        self._callers: list[asyncio.Future[int]] = []

    async def ask(self) -> int:
        """The store's revision, read after this call began. Raises what the store raises."""
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._callers.append(future)
        self._wanted.set()
        return await future

    async def run(self) -> None:
        """Answer, for ever. At most one question is in flight;
        those who come meanwhile share the next one."""
        try:
            while True:
                await self._wait()
                await self._answer()
        finally:
            callers, self._callers = self._callers, []
            for caller in callers:
                _fail(caller, Unavailable("the watch cache has stopped"))

    async def _wait(self) -> None:
        if self._callers:
            return
        self._wanted.clear()
        try:
            async with asyncio.timeout(self._heartbeat):
                await self._wanted.wait()
        except TimeoutError:
            return

    async def _answer(self) -> None:
        callers, self._callers = self._callers, []
        try:
            revision = await self._read()
        except StorageError as error:
            for caller in callers:
                _fail(caller, error)
            if not callers:
                # Only the heartbeat asked. A store that refuses at once must not make this a busy loop.
                await asyncio.sleep(min(1.0, self._heartbeat))
            return
        except BaseException:
            for caller in callers:
                _fail(caller, Unavailable("the watch cache has stopped"))
            raise
        for caller in callers:
            if not caller.done():
                caller.set_result(revision)


class RevisionWaiters:
    """Those who wait for a revision, the lowest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()

    async def wait(self, revision: int) -> None:
        """Wait until `reached` is called with this revision or a higher one."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._heap, (revision, next(self._order), future))
        await future

    def reached(self, revision: int) -> None:
        """Let go all who wait for this revision or a lower one."""
        heap = self._heap
        while heap and heap[0][0] <= revision:
            future = heapq.heappop(heap)[2]
            if not future.done():
                future.set_result(None)

    def sweep(self) -> None:
        """Forget those who have given up waiting, so that a far future revision does not keep them."""
        if any(entry[2].done() for entry in self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].done()]
            heapq.heapify(self._heap)


def _fail(caller: asyncio.Future[int], error: StorageError) -> None:
    if not caller.done():
        caller.set_exception(error)
