"""Time, passed in. Everything that waits or measures takes a `Clock`, so that leases, backoff and deadlines
are tested without a sleep. Durations come from the monotonic clock; the wall clock is only for time stamps
in objects."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """A source of time and of waiting."""

    def monotonic(self) -> float:
        """Seconds that never go back; their zero means nothing."""
        ...

    def now(self) -> datetime:
        """The wall clock in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    async def wait(self, event: asyncio.Event, seconds: float | None) -> bool:
        """Wait until the event is set (True) or the time is over (False; None: wait without end)."""
        ...


class SystemClock:
    """The real one."""

    def monotonic(self) -> float:
        """Seconds of `time.monotonic`."""
        return time.monotonic()

    def now(self) -> datetime:
        """The wall clock in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, seconds: float | None) -> bool:
        """Wait for the event, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True


class FakeClock:
    """Time that moves when it is told to. For tests."""

    def __init__(self, start: datetime | None = None) -> None:
        self._elapsed = 0.0
        self._start = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        """Seconds advanced so far."""
        return self._elapsed

    def now(self) -> datetime:
        """The start and what has been advanced."""
        return self._start + timedelta(seconds=self._elapsed)

    async def sleep(self, seconds: float) -> None:
        """Wait for `advance` to pass this time."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), future))
        await future

    async def wait(self, event: asyncio.Event, seconds: float | None) -> bool:
        """Wait for the event or for `advance` to pass this time."""
        if event.is_set():
            return True
        waiters: set[asyncio.Future[object]] = {asyncio.ensure_future(event.wait())}
        if seconds is not None:
            waiters.add(asyncio.ensure_future(self.sleep(seconds)))
        try:
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiter in waiters:
                waiter.cancel()
            await asyncio.gather(*waiters, return_exceptions=True)
        return event.is_set()

    async def advance(self, seconds: float) -> None:
        """Move time forward, waking sleepers in order and letting everything that is ready run."""
        end = self._elapsed + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, future = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            if not future.done():
                future.set_result(None)
                await self.settle()
        self._elapsed = end
        await self.settle()

    @staticmethod
    async def settle() -> None:
        """Let ready tasks run until, most likely, all of them wait."""
        for _ in range(50):
            await asyncio.sleep(0)


def timestamp(moment: datetime) -> str:
    """A `metav1.Time`: RFC 3339 in UTC with whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """A `metav1.MicroTime`: RFC 3339 in UTC with microseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_timestamp(text: str) -> datetime:
    """Read a `metav1.Time` or `MicroTime`. Raises ValueError."""
    return datetime.fromisoformat(text).astimezone(UTC)
