"""The placement loop, in numbered steps: take a picture, nominate, write, report.

There is one loop for all jobs because a decision is about the queue and not about a job. It owns no truth:
what it books is in the store or it did not happen, and after every round the fleet is worked out from the
ledger again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import structlog

from apiserver.controllers import metrics
from apiserver.controllers.clients import Change, Object, Objects, is_conflict, is_not_found
from apiserver.controllers.clock import Clock, timestamp
from apiserver.controllers.events import EventRecorder
from apiserver.controllers.inferencejob import ledger as books
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.backoff import NodeBackoff
from apiserver.controllers.inferencejob.cluster import Cluster
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.status import StatusDraft
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.informer import Informer
from apiserver.controllers.placement.explain import explain
from apiserver.controllers.placement.model import Assignment, Demand, Pending, Running
from apiserver.controllers.placement.nominate import nominate
from apiserver.controllers.placement.plan import Decision, Planner
from apiserver.controllers.placement.preempt import victims
from apiserver.controllers.store import split_key
from apiserver.machinery.errors import APIError

ROUND_LIMIT = 256
"""Jobs placed in one round, so that a round does not hold up the event loop."""
BATCH_OBJECTS = 64
"""Objects in one transaction; etcd takes 128 operations."""
PREEMPTORS = 8
"""Jobs of a round that may look for victims."""
IDLE_SHARE = 10.0
"""After a round that placed nothing, rest for this many times its length: a full queue must not eat the
processor."""
MAX_REST = 1.0
RETRY_SECONDS = 1.0
REPORT_SECONDS = 10.0
REPORTS_PER_SECOND = 50.0
"""So many jobs tell a new place in the queue each second, at most."""
MAX_EXPLAINED = 1024

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Report:
    """Why a job was not placed in the last round, and how many go first."""

    position: int
    message: str


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
        self.reports: dict[str, Report] = {}
        self.evictions: dict[str, str] = {}
        """Jobs to be evicted, with the message for them; their reconciliation does it."""
        self.placing: set[str] = set()
        """Jobs that are being written just now: they may carry the finalizer and hold nothing yet."""
        self._objects = objects
        self._jobs = jobs
        self._cluster = cluster
        self._clock = clock
        self._events = events
        self._backoff = backoff
        self._wake_job = wake_job
        self._pending: dict[str, Pending] = {}
        self._running: dict[str, Running] = {}
        self._told_old = False
        """Whether the last round told reasons of an earlier one: another look is due."""
        self._explained: dict[tuple[Demand, int], tuple[float, str]] = {}
        self._wake = asyncio.Event()
        jobs.add_handler(self._on_job)

    def wake(self) -> None:
        """Something may have come free."""
        self._wake.set()

    @property
    def waiting(self) -> int:
        """How many jobs wait to be placed."""
        return len(self._pending)

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

    def _next_look(self) -> float | None:
        """Seconds until something changes by the clock alone; None if nothing does."""
        waits = [self._backoff.next_expiry()]
        hold = self.planner.hold
        if hold is not None:
            waits.append(hold.since + self.planner.hold_seconds - self._clock.monotonic())
        if self._told_old:
            waits.append(REPORT_SECONDS)
        return min((max(wait, 0.0) for wait in waits if wait is not None), default=None)

    async def round(self) -> int:
        """One round over the queue; returns how many jobs were placed."""
        self._cluster.refresh()
        metrics.jobs_pending.set(len(self._pending))
        if not self._pending:
            return 0
        excluded = self._backoff.nodes()
        queue = [job for job in self._pending.values() if not self._still_booked(job.key)]
        decisions = self.planner.plan(queue, self._clock.monotonic(), excluded=excluded, limit=ROUND_LIMIT)
        placed = [decision for decision in decisions if decision.assignment is not None]
        self.placing.update(decision.job.key for decision in placed)
        try:
            await self._write_all(placed)
        finally:
            self.placing.clear()
            for decision in placed:
                for node, _ in decision.assignment or ():
                    self._cluster.touch(node)
        if len(placed) >= ROUND_LIMIT:
            self._wake.set()
        else:
            await self._report([each for each in decisions if each.assignment is None], excluded)
        return len(placed)

    # -- which jobs wait, which run

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
            self.reports.pop(view.key, None)
        elif self._pending.get(view.key) != pending:
            self._pending[view.key] = pending
            self._wake.set()

    def _still_booked(self, key: str) -> bool:
        """Whether the ledger still has a replica that the status misses: somebody edited the status. Its
        reconciliation gives that back first; to place it again now would book it twice."""
        job = self._jobs.store.get(key)
        if job is None:
            return True
        held = self._cluster.ledger.of_job(job["metadata"]["uid"])
        return bool(held) and not held.keys().isdisjoint(JobView(job).missing)

    def _forget(self, key: str) -> None:
        for known in (self._pending, self._running, self.reports, self.evictions):
            known.pop(key, None)
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
            healing=bool(view.placements),
        )

    def _note_running(self, view: JobView) -> None:
        counts: dict[str, int] = {}
        for item in view.placements.values():
            if item.get("gpus"):
                counts[item["node"]] = counts.get(item["node"], 0) + 1
        if not counts:
            self._running.pop(view.key, None)
            if view.key in self.evictions:
                del self.evictions[view.key]
                self._wake.set()
            return
        self._running[view.key] = Running(
            key=view.key,
            demand=self._cluster.demand(view),
            assignment=tuple(sorted(counts.items())),
            priority=view.priority,
            since=view.created.timestamp(),
        )

    # -- writing

    async def _write_all(self, placed: Sequence[Decision]) -> None:
        for batch in _batches(placed):
            if len(batch) > 1 and await self._write(batch):
                continue
            for decision in batch:
                if not await self._write([decision]):
                    # Read again what the decision stood on, and let the next round decide anew.
                    await self._reread(decision)

    async def _write(self, batch: Sequence[Decision]) -> bool:
        """Place some jobs in one transaction. False if the picture was not the present one."""
        try:
            views = await self._prepared(batch)
            changes = self._changes(views, batch)
            written = await self._objects.transact(changes)
        except books.NoRoom as error:
            log.info("placement.no_room", error=str(error))
            return False
        except APIError as error:
            if is_conflict(error) or is_not_found(error):
                metrics.conflicts.labels("placement").inc()
            else:
                log.warning("placement.failed", error=error.message)
            return False
        except OSError as error:
            log.warning("placement.failed", error=str(error))
            return False
        for decision, job in zip(batch, written[: len(batch)], strict=True):
            self._jobs.record(job)
            self._tell(decision, job)
        self._cluster.ledger.record(written[len(batch) :])
        metrics.placements.labels("placed").inc(len(batch))
        return True

    async def _prepared(self, batch: Sequence[Decision]) -> list[JobView]:
        views = [self._view(decision) for decision in batch]
        outcomes = await asyncio.gather(*map(self._with_finalizer, views), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, JobView)]

    def _view(self, decision: Decision) -> JobView:
        job = self._jobs.store.get(decision.job.key)
        if job is None:
            raise books.NoRoom(f"{decision.job.key} is gone")
        view = JobView(job)
        if len(view.missing) != decision.job.replicas:
            raise books.NoRoom(f"{decision.job.key} has changed")
        return view

    async def _with_finalizer(self, view: JobView) -> JobView:
        """The finalizer goes first: a job that holds something cannot vanish."""
        if view.holds_finalizer:
            return view
        metadata = view.obj["metadata"]
        finalizers = [*(metadata.get("finalizers") or ()), names.FINALIZER]
        job = {**view.obj, "metadata": {**metadata, "finalizers": finalizers}}
        written = await self._objects.update(names.JOBS, job)
        self._jobs.record(written)
        return JobView(written)

    def _changes(self, views: Sequence[JobView], batch: Sequence[Decision]) -> list[Change]:
        entries: dict[str, Object] = {}
        jobs: list[Change] = []
        now = timestamp(self._clock.now())
        for view, decision in zip(views, batch, strict=True):
            replicas = spread(view.missing, decision.assignment or ())
            self._book(view, replicas, entries)
            jobs.append(Change(names.JOBS, placed_status(view, replicas, now), "update_status"))
        return [*jobs, *(Change(names.GPU_NODES, entry, "update") for entry in entries.values())]

    def _book(self, view: JobView, replicas: dict[int, str], entries: dict[str, Object]) -> None:
        by_node: dict[str, list[Object]] = {}
        for replica, node in replicas.items():
            item = {"job": view.key, "uid": view.uid, "replica": replica, "count": view.gpus}
            by_node.setdefault(node, []).append(item)
        for node, items in by_node.items():
            entry = self._cluster.ledger.entry(node, view.resource)
            if entry is None:
                raise books.NoRoom(f"the ledger has no {view.resource} on {node}")
            name = entry["metadata"]["name"]
            entries[name] = books.booked(entries.get(name, entry), items)

    def _tell(self, decision: Decision, job: Object) -> None:
        where = ", ".join(f"{node} ({count})" for node, count in (decision.assignment or ())[:20])
        self._events.event(
            job, "Normal", Reason.PLACED, f"Placed {decision.job.replicas} replicas on {where}"
        )

    async def _reread(self, decision: Decision) -> None:
        """After a write whose outcome is unknown or whose ground was old: read what it was about."""
        namespace, name = split_key(decision.job.key)
        try:
            self._jobs.record(await self._objects.get(names.JOBS, namespace, name))
            for node, _ in decision.assignment or ():
                entry = self._cluster.ledger.entry(node, decision.job.demand.resource)
                if entry is not None:
                    fresh = await self._objects.get(names.GPU_NODES, "", entry["metadata"]["name"])
                    self._cluster.ledger.record([fresh])
        except (APIError, OSError) as error:
            # The watch will tell; until then the round comes again after a rest.
            log.info("placement.reread_failed", job=decision.job.key, error=str(error))
            await self._clock.sleep(RETRY_SECONDS)
        self._wake.set()

    # -- what was not placed

    @property
    def report_interval(self) -> float:
        """The least seconds between two reports of one job: a long queue must not be a storm of writes."""
        return max(REPORT_SECONDS, len(self._pending) / REPORTS_PER_SECOND)

    async def _report(self, waiting: Sequence[Decision], excluded: Iterable[str]) -> None:
        closed = frozenset(excluded)
        self._told_old = False
        self._preempt(waiting, closed)
        for decision in waiting:
            job = decision.job
            report = Report(decision.position, await self._explain(job, closed))
            known = self.reports.get(job.key)
            if known == report or job.key not in self._pending:
                continue
            self.reports[job.key] = report
            self._wake_job(job.key, 0.0 if known is None else self.report_interval)

    async def _explain(self, job: Pending, closed: frozenset[str]) -> str:
        """Why the job does not fit. It is the one thing here that looks at every node: so not too often, and
        others get their turn in between."""
        now = self._clock.monotonic()
        at, message = self._explained.get((job.demand, job.replicas), (0.0, ""))
        if message and now - at < REPORT_SECONDS:
            self._told_old = self._told_old or now > at
            return message
        held = self.planner.hold.nodes if self.planner.hold else frozenset()
        message = explain(self._cluster.fleet, job.demand, job.replicas, backed_off=closed, held=held)
        if len(self._explained) >= MAX_EXPLAINED:
            self._explained.clear()
        self._explained[job.demand, job.replicas] = (now, message)
        await asyncio.sleep(0)
        return message

    def _preempt(self, waiting: Sequence[Decision], closed: frozenset[str]) -> None:
        """Find victims for the first jobs of the queue that outrank somebody."""
        lowest = min((other.priority for other in self._running.values()), default=None)
        if lowest is None:
            return
        ranked = [decision.job for decision in waiting if decision.job.priority > lowest]
        if not ranked:
            return
        # What is supposed here is undone by working the touched nodes out anew.
        leaving = self._leaving()
        for key in leaving:
            self._suppose_gone(key)
        for job in ranked[:PREEMPTORS]:
            self._preempt_for(job, closed, leaving)
        self._cluster.refresh()

    def _suppose_gone(self, key: str) -> None:
        other = self._running[key]
        for node, count in other.assignment:
            self._cluster.fleet.give(node, other.demand, count)
            self._cluster.touch(node)

    def _preempt_for(self, job: Pending, closed: frozenset[str], leaving: set[str]) -> None:
        """Evict for one job, unless what is leaving already makes room for it."""
        fleet = self._cluster.fleet
        room = nominate(fleet, job.demand, job.replicas, excluded=closed)
        if room is None:
            staying = [other for key, other in self._running.items() if key not in leaving]
            for key in victims(fleet, job, staying, excluded=closed) or ():
                self._suppose_gone(key)
                leaving.add(key)
                self.evictions[key] = f"Preempted by {job.key} of priority {job.priority}"
                metrics.placements.labels("preempted").inc()
                self._wake_job(key, 0.0)
            room = nominate(fleet, job.demand, job.replicas, excluded=closed)
        # What comes free for this job is not free for the next one of the queue.
        for node, count in room or ():
            fleet.take(node, job.demand, count)
            self._cluster.touch(node)

    def _leaving(self) -> set[str]:
        """Jobs that hold GPUs and are giving them back."""
        leaving = {key for key in self.evictions if key in self._running}
        for key in self._running:
            job = self._jobs.store.get(key)
            if job is not None and (JobView(job).releasing or JobView(job).deleting):
                leaving.add(key)
        return leaving


def placed_status(view: JobView, replicas: dict[int, str], now: str) -> Object:
    """The job with replicas placed on nodes."""
    draft = StatusDraft(view, now)
    placements = dict(view.placements)
    for replica, node in replicas.items():
        placements[replica] = {
            "replica": replica,
            "node": node,
            "gpus": view.gpus,
            "pod": view.pod_name(replica),
        }
    draft.place(placements)
    draft.condition(names.SCHEDULED, "True", Reason.PLACED, f"All {view.replicas} replicas have their GPUs")
    draft.set(
        phase="Reconciling",
        queuePosition=None,
        message=None,
        startTime=draft.get("startTime") or now,
        attempts=max(int(draft.get("attempts") or 0), 1),
    )
    return draft.result()


def spread(missing: Sequence[int], assignment: Assignment) -> dict[int, str]:
    """Which of the missing replicas goes to which node."""
    nodes = [node for node, count in assignment for _ in range(count)]
    return dict(zip(missing, nodes, strict=True))


def _batches(placed: Sequence[Decision]) -> Iterable[list[Decision]]:
    """Decisions in order, cut so that a transaction touches a bounded number of objects."""
    batch: list[Decision] = []
    nodes: set[str] = set()
    for decision in placed:
        touched = {node for node, _ in decision.assignment or ()}
        if batch and len(batch) + 1 + len(nodes | touched) > BATCH_OBJECTS:
            yield batch
            batch, nodes = [], set()
        batch.append(decision)
        nodes |= touched
    if batch:
        yield batch
