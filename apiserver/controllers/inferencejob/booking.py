"""Writes decisions to the store: the jobs and the ledger entries that they touch, in one transaction.

Several jobs share a transaction, because jobs that are placed one after the other often share nodes.
It compares the revision of everything it is about;
if anything is not as the decision assumed, nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

import structlog

from apiserver.controllers import metrics
from apiserver.controllers.clients import (
    Change,
    Object,
    Objects,
    is_conflict,
    is_not_found,
    is_too_large,
)
from apiserver.controllers.clock import Clock, timestamp
from apiserver.controllers.events import EventRecorder
from apiserver.controllers.inferencejob import ledger as books
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.cluster import Cluster
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.status import StatusDraft
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.informer import Informer
from apiserver.controllers.placement.model import Assignment, Pending
from apiserver.controllers.placement.plan import Decision
from apiserver.controllers.store import split_key
from apiserver.machinery.errors import APIError

BATCH_OBJECTS = 64
"""Objects in one transaction of several jobs; etcd takes 128 operations by default,
which a single gang may need."""

log = structlog.get_logger(__name__)


class Outcome(Enum):
    """What became of writing a decision."""

    WRITTEN = "written"
    FAILED = "failed"
    """Something was not as it was thought to be, or storage had trouble: try again."""
    TOO_LARGE = "too large"
    """It is more than storage takes in one transaction: the same decision cannot be written later either."""


class Booking:
    """See the module. `is_current` says whether a job still wants what was decided about."""

    def __init__(
        self,
        objects: Objects,
        jobs: Informer,
        cluster: Cluster,
        clock: Clock,
        events: EventRecorder,
        is_current: Callable[[Pending], bool],
    ) -> None:
        self._objects = objects
        self._jobs = jobs
        self._cluster = cluster
        self._clock = clock
        self._events = events
        self._is_current = is_current

    async def write(self, placed: Sequence[Decision]) -> list[tuple[Decision, Outcome]]:
        """Write decisions; returns those that came to nothing, with the picture they stood on read anew."""
        failed: list[tuple[Decision, Outcome]] = []
        for batch in _batches(placed):
            if len(batch) > 1 and await self._transact(batch) is Outcome.WRITTEN:
                continue
            for decision in batch:
                outcome = await self._transact([decision])
                if outcome is not Outcome.WRITTEN:
                    failed.append((decision, outcome))
                    await self._reread(decision)
        return failed

    async def _transact(self, batch: Sequence[Decision]) -> Outcome:
        try:
            views = await self._prepared(batch)
            written = await self._objects.transact(self._changes(views, batch))
        except books.NoRoom as error:
            log.info("placement.no_room", error=str(error))
            return Outcome.FAILED
        except APIError as error:
            if is_conflict(error) or is_not_found(error):
                metrics.conflicts.labels("placement").inc()
                return Outcome.FAILED
            if is_too_large(error):
                return Outcome.TOO_LARGE
            self._complain(batch, error.message)
            return Outcome.FAILED
        except OSError as error:
            log.warning("placement.failed", error=str(error))
            return Outcome.FAILED
        for decision, job in zip(batch, written[: len(batch)], strict=True):
            self._jobs.record(job)
            self._tell(decision, job)
        self._cluster.ledger.record(written[len(batch) :])
        metrics.placements.labels("placed").inc(len(batch))
        return Outcome.WRITTEN

    async def _prepared(self, batch: Sequence[Decision]) -> list[JobView]:
        """The jobs with our finalizer on them: a job that holds something cannot vanish."""
        views = [self._view(decision) for decision in batch]
        outcomes = await asyncio.gather(*map(self._with_finalizer, views), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, JobView)]

    def _view(self, decision: Decision) -> JobView:
        job = self._jobs.store.get(decision.job.key)
        if job is None or not self._is_current(decision.job):
            raise books.NoRoom(f"{decision.job.key} has changed")
        return JobView(job)

    async def _with_finalizer(self, view: JobView) -> JobView:
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
        message = f"Placed {decision.job.replicas} replicas on {where}"
        self._events.event(job, "Normal", Reason.PLACED, message)

    def _complain(self, batch: Sequence[Decision], why: str) -> None:
        """Say it on the job when it is about one: a rule of the store's."""
        log.warning("placement.failed", jobs=[decision.job.key for decision in batch], error=why)
        job = self._jobs.store.get(batch[0].job.key)
        if len(batch) == 1 and job is not None:
            self._events.event(job, "Warning", Reason.PLACEMENT_FAILED, why)

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
            # The watch brings it, later; the job is tried again after its pause.
            log.info("placement.reread_failed", job=decision.job.key, error=str(error))


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


def _batches(placed: Sequence[Decision]) -> Iterator[list[Decision]]:
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
