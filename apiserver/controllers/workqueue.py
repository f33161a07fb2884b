"""A queue of keys. A key waits in it at most once and is worked on by at most one worker; a key that is
added while it is worked on comes again afterwards. Failures come back with exponential backoff and jitter,
per key.

The queue is bounded by the number of distinct keys, that is of objects; its depth is a health check.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable

from apiserver.controllers import metrics
from apiserver.controllers.clock import Clock

BASE_SECONDS = 0.05
MAX_SECONDS = 300.0
JITTER = 0.2


class WorkQueue:
    """See the module. `uniform` gives numbers in [0, 1) for the jitter."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        *,
        base_seconds: float = BASE_SECONDS,
        max_seconds: float = MAX_SECONDS,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._clock = clock
        self._base = base_seconds
        self._max = max_seconds
        self._uniform = uniform
        self._ready: deque[str] = deque()
        self._waiting: dict[str, float] = {}
        self._working: dict[str, float] = {}
        self._again: set[str] = set()
        self._delayed: list[tuple[float, int, str]] = []
        self._due: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._order = itertools.count()
        self._wake = asyncio.Event()
        self._adds = metrics.queue_adds.labels(name)
        self._retries = metrics.queue_retries.labels(name)
        self._depth = metrics.queue_depth.labels(name)
        self._wait = metrics.queue_wait.labels(name)
        self._work = metrics.queue_work.labels(name)
        self._unfinished = metrics.queue_unfinished.labels(name)
        self._longest = metrics.queue_longest.labels(name)

    def __len__(self) -> int:
        """How many keys wait to be worked on now (delayed ones not counted)."""
        return len(self._ready)

    def add(self, key: str) -> None:
        """Have the key worked on as soon as a worker is free."""
        if key in self._waiting or key in self._again:
            return
        self._adds.inc()
        self._waiting[key] = self._clock.monotonic()
        if key in self._working:
            self._again.add(key)
            return
        self._ready.append(key)
        self._wake.set()
        self._depth.set(len(self._ready))

    def add_after(self, key: str, seconds: float) -> None:
        """Add the key after a while. Of several such calls for a key the earliest wins."""
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if self._due.get(key, due + 1) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._delayed, (due, next(self._order), key))
        self._wake.set()

    def add_failed(self, key: str, most: float | None = None) -> float:
        """Add the key after its backoff, but after `most` seconds at the latest; returns the delay in
        seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(self._base * 2.0 ** min(failures, 60), self._max if most is None else most) * (
            1 + JITTER * self._uniform()
        )
        self._retries.inc()
        self.add_after(key, delay)
        return delay

    def forget(self, key: str) -> None:
        """The key is fine: its next failure starts with the shortest delay."""
        self._failures.pop(key, None)

    def failures(self, key: str) -> int:
        """How often the key has failed in a row."""
        return self._failures.get(key, 0)

    async def get(self) -> str:
        """The next key; `done` must be called with it."""
        while True:
            self._promote()
            if self._ready:
                return self._start(self._ready.popleft())
            self._wake.clear()
            wait = self._delayed[0][0] - self._clock.monotonic() if self._delayed else None
            await self._clock.wait(self._wake, wait)

    def done(self, key: str) -> None:
        """The work on the key has ended, well or not."""
        now = self._clock.monotonic()
        self._work.observe(now - self._working.pop(key))
        if key in self._again:
            self._again.discard(key)
            self._ready.append(key)
            self._wake.set()
        self._observe_running(now)

    def _start(self, key: str) -> str:
        now = self._clock.monotonic()
        self._wait.observe(now - self._waiting.pop(key))
        self._working[key] = now
        self._observe_running(now)
        return key

    def _promote(self) -> None:
        """Move delayed keys that are due to the ready ones."""
        now = self._clock.monotonic()
        while self._delayed and self._delayed[0][0] <= now:
            due, _, key = heapq.heappop(self._delayed)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)

    def _observe_running(self, now: float) -> None:
        running = [now - since for since in self._working.values()]
        self._depth.set(len(self._ready))
        self._unfinished.set(sum(running))
        self._longest.set(max(running, default=0.0))
