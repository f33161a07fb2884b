"""The placement loop, in numbered steps: (1) take a picture, (2) nominate, (3) write, (4) evict, (5) report.

There is one loop for all jobs because a decision is about the queue and not about a job. It owns no truth:
what it books is in the store or it did not happen, and after every round the fleet is worked out from the
ledger again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from apiserver.controllers import metrics
from apiserver.controllers.clients import Object, Objects
from apiserver.controllers.clock import Clock
from apiserver.controllers.events import EventRecorder
from apiserver.controllers.inferencejob.backoff import NodeBackoff
from apiserver.controllers.inferencejob.booking import Booking, Outcome
from apiserver.controllers.inferencejob.cluster import Cluster
from apiserver.controllers.inferencejob.evictions import Evictions
from apiserver.controllers.inferencejob.reports import REPORT_SECONDS, Reports
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.informer import Informer
from apiserver.controllers.placement.model import Pending, Running
from apiserver.controllers.placement.plan import Decision, Planner

ROUND_LIMIT = 256
"""Jobs placed in one round, so that a round does not hold up the event loop."""
IDLE_SHARE = 10.0
"""After a round that placed nothing, rest for this many times its length:
a full queue must not eat the processor."""
MAX_REST = 1.0
FIRST_PAUSE = 0.05
MAX_PAUSE = 30.0
"""A job whose placement could not be written is passed over for so many seconds, doubled each time."""
REFUSED_PAUSE = 600.0
"""A placement that is too large for a transaction stays so unless the job changes, or an emptier fleet takes
it on fewer nodes."""


@dataclass(slots=True)
class _Pause:
    failures: int
    until: float
    over: bool = False
    """Whether the job has been in a round since. A round that ends after the pause would otherwise leave
    nobody to begin the next one."""


class Scheduler:
    """See the module. `wake_job` has a job reconciled after so many seconds."""

    def __init__(
        self,
        objects: Objects,
        jobs: Informer,
        cluster: Cluster,
        clock: Clock,
        events: EventRecorder,
        backoff: NodeBackoff,
        wake_job: Callable[[str, float], None],
    ) -> None:
        self.planner = Planner(cluster.fleet)
        self.reports = Reports(self.planner, clock, wake_job)
        self.evictions = Evictions(cluster, jobs, wake_job)
        self.placing: set[str] = set()
        """Jobs that are being written just now: they may carry the finalizer and hold nothing yet."""
        self._booking = Booking(objects, jobs, cluster, clock, events, self._is_current)
        self._jobs = jobs
        self._cluster = cluster
        self._clock = clock
        self._backoff = backoff
        self._pending: dict[str, Pending] = {}
        self._running: dict[str, Running] = {}
        self._pauses: dict[str, _Pause] = {}
        self._put_off: dict[str, float] = {}
        self._wake = asyncio.Event()
        jobs.add_handler(self._on_job)

    def wake(self) -> None:
        """Something may have come free."""
        self._wake.set()

    def put_off(self, key: str, seconds: float) -> None:
        """Do not place a job for so many seconds: it has had GPUs for long and could make nothing of them."""
        self._put_off[key] = self._clock.monotonic() + seconds

    async def run(self) -> None:
        """Plan whenever something has changed, until cancelled."""
        while True:
            await self._clock.wait(self._wake, self._next_look())
            self._wake.clear()
            started = self._clock.monotonic()
            placed = await self.round()
            spent = self._clock.monotonic() - started
            metrics.placement_cycle.observe(spent)
            if not placed and spent > 0:
                await self._clock.sleep(min(spent * IDLE_SHARE, MAX_REST))

    async def round(self) -> int:
        """One round over the queue; returns how many jobs were placed."""
        self._cluster.refresh()
        metrics.jobs_pending.set(len(self._pending))
        if not self._pending:
            return 0
        excluded = self._backoff.nodes()
        decisions = self.planner.plan(
            self._queue(), self._clock.monotonic(), excluded=excluded, limit=ROUND_LIMIT
        )
        placed = [decision for decision in decisions if decision.assignment is not None]
        failed = await self._write(placed)
        self._cluster.refresh()
        if len(placed) >= ROUND_LIMIT:
            self._wake.set()
            return len(placed) - failed
        waiting = [decision for decision in decisions if decision.assignment is None]
        self.evictions.decide([decision.job for decision in waiting], self._running, excluded)
        await self.reports.tell(waiting, excluded, self._pending.__contains__)
        return len(placed) - failed

    async def _write(self, placed: list[Decision]) -> int:
        """Write the decisions; returns how many came to nothing."""
        self.placing.update(decision.job.key for decision in placed)
        try:
            failed = await self._booking.write(placed)
        finally:
            self.placing.clear()
            for decision in placed:
                for node, _ in decision.assignment or ():
                    self._cluster.touch(node)
        for decision, outcome in failed:
            key = decision.job.key
            if outcome is Outcome.TOO_LARGE:
                self.reports.refuse(key, len(decision.assignment or ()))
                self._pause(key, REFUSED_PAUSE)
            else:
                self._pause(key)
        return len(failed)

    # -- which jobs wait, which run

    def _queue(self) -> list[Pending]:
        now = self._clock.monotonic()
        self._pauses = {key: pause for key, pause in self._pauses.items() if key in self._pending}
        paused = {key for key, pause in self._pauses.items() if pause.until > now}
        for key, pause in self._pauses.items():
            pause.over = key not in paused
        self._put_off = {key: until for key, until in self._put_off.items() if until > now}
        paused |= self._put_off.keys()
        return [
            job for key, job in self._pending.items() if key not in paused and not self._still_booked(key)
        ]

    def _pause(self, key: str, least: float = 0.0) -> None:
        pause = self._pauses.setdefault(key, _Pause(0, 0.0))
        seconds = max(min(FIRST_PAUSE * 2.0 ** min(pause.failures, 30), MAX_PAUSE), least)
        pause.until = self._clock.monotonic() + seconds
        pause.failures += 1
        pause.over = False

    def _next_look(self) -> float | None:
        """Seconds until something changes by the clock alone; None if nothing does."""
        now = self._clock.monotonic()
        waits = [
            pause.until - now
            for key, pause in self._pauses.items()
            if not pause.over and key in self._pending
        ]
        waits += [until - now for key, until in self._put_off.items() if key in self._pending]
        expiry, hold = self._backoff.next_expiry(), self.planner.hold
        if expiry is not None:
            waits.append(expiry)
        if hold is not None:
            waits.append(hold.since + self.planner.hold_seconds - now)
        if self.reports.told_old:
            waits.append(REPORT_SECONDS)
        return max(min(waits), 0.0) if waits else None

    def _is_current(self, job: Pending) -> bool:
        return self._pending.get(job.key) == job

    def _still_booked(self, key: str) -> bool:
        """Whether the ledger still has a replica that the status misses: somebody edited the status. Its
        reconciliation gives that back first; to place it again now would book it twice."""
        job = self._jobs.store.get(key)
        if job is None:
            return True
        held = self._cluster.ledger.of_job(job["metadata"]["uid"])
        return bool(held) and not held.keys().isdisjoint(JobView(job).missing)

    def _on_job(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._forget(JobView(old).key)
            return
        view = JobView(new)
        self._note_running(view)
        pending = self._wants(view)
        if pending is None:
            self._pending.pop(view.key, None)
            self.reports.forget(view.key)
        elif self._pending.get(view.key) != pending:
            self._pending[view.key] = pending
            self._pauses.pop(view.key, None)
            self._wake.set()

    def _forget(self, key: str) -> None:
        self._pending.pop(key, None)
        self._running.pop(key, None)
        self.reports.forget(key)
        self.evictions.forget(key)
        self._wake.set()

    def _wants(self, view: JobView) -> Pending | None:
        """The job as the queue sees it; None if it is not to be placed now."""
        if view.deleting or view.suspended or view.finished or view.releasing or view.blocked:
            return None
        missing = view.missing
        if not missing:
            return None
        return Pending(
            key=view.key,
            demand=self._cluster.demand(view),
            replicas=len(missing),
            priority=view.priority,
            since=view.created.timestamp(),
            healing=view.holding,
        )

    def _note_running(self, view: JobView) -> None:
        counts: dict[str, int] = {}
        for item in view.placements.values():
            if item.get("gpus"):
                counts[item["node"]] = counts.get(item["node"], 0) + 1
        if not counts:
            self._running.pop(view.key, None)
            if self.evictions.forget(view.key):
                self._wake.set()
            return
        self._running[view.key] = Running(
            key=view.key,
            demand=self._cluster.demand(view),
            assignment=tuple(sorted(counts.items())),
            priority=view.priority,
            since=view.created.timestamp(),
        )
