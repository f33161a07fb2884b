"""Runs a reconcile function over a queue: workers, time limits, retries, metrics.
Knows nothing of any resource.

A failure is transient (tried again with backoff) unless it is a `TerminalError` (not tried again until
something adds the key: a new generation, or a change of what it waits for). A fault in the code of one
reconciliation is treated as a transient failure of that key, as controller-runtime does with panics: one odd
object must not stop the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from apiserver.controllers import metrics
from apiserver.controllers.clients import is_conflict, is_forbidden
from apiserver.controllers.clock import Clock
from apiserver.controllers.workqueue import WorkQueue
from apiserver.machinery.errors import APIError

RECONCILE_SECONDS = 60.0
WORKERS = 8
CONFLICT_SECONDS = 1.0
"""The longest pause after a conflict: nothing is wrong, somebody else was faster."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Result:
    """What a reconciliation wants next: `requeue_after` seconds, or (None) to be
    called when something changes."""

    requeue_after: float | None = None


DONE = Result()


class TerminalError(Exception):
    """Trying again cannot help. `reason` is CamelCase and goes to conditions and events."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


Reconcile = Callable[[str], Awaitable[Result]]


class Runner:
    """The workers of one controller."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        queue: WorkQueue,
        clock: Clock,
        *,
        workers: int = WORKERS,
        seconds: float = RECONCILE_SECONDS,
    ) -> None:
        self.name = name
        self.queue = queue
        self.last_success: float | None = None
        """When a reconciliation last succeeded, on the monotonic clock."""
        self._reconcile = reconcile
        self._clock = clock
        self._workers = workers
        self._seconds = seconds

    async def run(self) -> None:
        """Work until cancelled."""
        metrics.max_workers.labels(self.name).set(self._workers)
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name}-{number}")

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self.process(key)
            finally:
                self.queue.done(key)

    async def process(self, key: str) -> None:
        """Reconcile one key and decide what becomes of it."""
        started = self._clock.monotonic()
        busy = metrics.active_workers.labels(self.name)
        busy.inc()
        try:
            outcome = await self._attempt(key)
        finally:
            busy.dec()
            metrics.reconcile_time.labels(self.name).observe(self._clock.monotonic() - started)
        metrics.reconcile_total.labels(self.name, outcome).inc()
        log.debug(
            "reconciled",
            controller=self.name,
            object=key,
            result=outcome,
            seconds=round(self._clock.monotonic() - started, 4),
        )

    async def _attempt(self, key: str) -> str:
        """Reconcile; returns the result label of controller-runtime's metric."""
        try:
            async with asyncio.timeout(self._seconds):
                result = await self._reconcile(key)
        except TerminalError as error:
            self.queue.forget(key)
            metrics.reconcile_terminal_errors.labels(self.name).inc()
            self._report(key, error, terminal=True)
            return "error"
        except Exception as error:
            self._retry(key, error)
            return "error"
        self.last_success = self._clock.monotonic()
        self.queue.forget(key)
        if result.requeue_after is None:
            return "success"
        self.queue.add_after(key, result.requeue_after)
        return "requeue_after"

    def _retry(self, key: str, error: Exception) -> None:
        if is_conflict(error):
            delay = self.queue.add_failed(key, CONFLICT_SECONDS)
            metrics.conflicts.labels(self.name).inc()
            log.debug("reconcile.conflict", controller=self.name, object=key, retry_after=round(delay, 3))
            return
        delay = self.queue.add_failed(key)
        if isinstance(error, TimeoutError):
            metrics.reconcile_timeouts.labels(self.name).inc()
        if is_forbidden(error):
            metrics.forbidden.labels(self.name).inc()
        self._report(key, error, retry_after=round(delay, 3))

    def _report(self, key: str, error: Exception, **more: object) -> None:
        metrics.reconcile_errors.labels(self.name).inc()
        expected = isinstance(error, APIError | OSError | TerminalError)
        text = str(error) or type(error).__name__
        log.error(
            "reconcile.failed", controller=self.name, object=key, error=text, exc_info=not expected, **more
        )
