"""What the steps of a reconciliation work with: the world (one for the process) and the
turn (one a reconciliation)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apiserver.controllers.clients import Host, Objects, is_not_found
from apiserver.controllers.clock import Clock, parse_timestamp, timestamp
from apiserver.controllers.conditions import find
from apiserver.controllers.events import EventRecorder, EventType
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.backoff import NodeBackoff
from apiserver.controllers.inferencejob.cluster import Cluster
from apiserver.controllers.inferencejob.pods import owner_uid, replica_of
from apiserver.controllers.inferencejob.scheduler import Scheduler
from apiserver.controllers.inferencejob.status import StatusDraft
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.informer import Informer
from apiserver.controllers.store import Store
from apiserver.machinery.errors import APIError

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """Times of the lifecycle, in seconds."""

    node_lost: float = 60.0
    """A node that has not been ready for so long has lost its replicas."""
    heal: float = 300.0
    """A gang that could not be completed again for so long is released whole."""
    start: float = 300.0
    """A gang whose pods could not be made for so long is released whole."""
    force: float = 30.0
    """A pod that should be gone for so long, on a node that does not answer, is deleted by force."""
    recheck: float = 300.0
    """Every job is looked at again after so long, whatever was missed."""


@dataclass(frozen=True)
class World:
    """The process-wide parts. `jobs`, `nodes`, `pods` are informers."""

    objects: Objects
    host: Host
    jobs: Informer
    nodes: Informer
    pods: Informer
    cluster: Cluster
    scheduler: Scheduler
    backoff: NodeBackoff
    events: EventRecorder
    clock: Clock
    limits: Limits = field(default_factory=Limits)
    reported: dict[str, float] = field(default_factory=dict)
    """When the queue position of a job was last written, by key."""
    idle: dict[str, float] = field(default_factory=dict)
    """Since when a job with our finalizer holds nothing, by key."""
    unhealthy: dict[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    """Replicas (job UID, index) that have to leave a node because it has lost GPUs, by node."""
    refused: dict[str, float] = field(default_factory=dict)
    """What RBAC refused, and when; for the readiness check."""


class Turn:
    """One reconciliation of one job: what is known, and the draft of its status."""

    def __init__(self, world: World, view: JobView) -> None:
        self.world = world
        self.view = view
        self.now: datetime = world.clock.now()
        self.draft = StatusDraft(view, timestamp(self.now))
        self.pods = self._own_pods(world.pods.store)
        self.held = world.cluster.ledger.of_job(view.uid)
        self.wait: float = world.limits.recheck
        self.found: tuple[str, str] | None = None
        """A problem (reason, message) that a step has met and that does not stop the others."""

    def soon(self, seconds: float) -> None:
        """Have the job reconciled again after so many seconds at the latest."""
        self.wait = min(self.wait, max(seconds, 0.1))

    def event(self, kind: EventType, reason: str, message: str) -> None:
        """Record an event on the job."""
        self.world.events.event(self.view.obj, kind, reason, message)

    def problem(self, reason: str, message: str) -> None:
        """Note a problem; it becomes the condition Degraded, and an event when it is new."""
        known = find(self.view.conditions, names.DEGRADED) or {}
        if known.get("status") != "True" or known.get("message") != message:
            self.event("Warning", reason, message)
        self.found = (reason, message)

    def age(self, stamp: str | None) -> float:
        """Seconds since a time stamp; 0 for none."""
        return (self.now - parse_timestamp(stamp)).total_seconds() if stamp else 0.0

    async def write_status(self) -> None:
        """Write the draft if it means anything new. Raises the conflict if the job has changed."""
        self.draft.settle_generation()
        if not self.draft.changed:
            return
        self.written(await self.world.objects.update_status(names.JOBS, self.draft.result()))

    async def set_finalizer(self, wanted: bool) -> None:
        """Put our finalizer on the job, or take it off."""
        if self.view.holds_finalizer == wanted:
            return
        metadata = self.view.obj["metadata"]
        others = [name for name in metadata.get("finalizers") or () if name != names.FINALIZER]
        finalizers = [*others, names.FINALIZER] if wanted else others
        job = {**self.view.obj, "metadata": {**metadata, "finalizers": finalizers}}
        try:
            self.written(await self.world.objects.update(names.JOBS, job))
        except APIError as error:
            if wanted or not is_not_found(error):
                raise

    def written(self, job: Object) -> None:
        """Take in the job as it was just written; the draft stands on it from now on."""
        if not job["metadata"].get("deletionTimestamp") or job["metadata"].get("finalizers"):
            self.world.jobs.record(job)
        self.view = JobView(job)
        self.draft = StatusDraft(self.view, self.draft.now)

    async def reread(self) -> None:
        """After a conflict: take in the job and what it holds as they are now. News may come late, and until
        they come each try would meet the same conflict."""
        try:
            self.world.jobs.record(
                await self.world.objects.get(names.JOBS, self.view.namespace, self.view.name)
            )
            for name in {entry["metadata"]["name"] for entry, _ in self.held.values()}:
                self.world.cluster.ledger.record([await self.world.objects.get(names.GPU_NODES, "", name)])
        except APIError as error:
            if not is_not_found(error):
                raise

    def forget(self, pod: Object) -> None:
        """A pod is gone, although the watch has not said so yet."""
        self.world.pods.record_deletion(pod)
        for replica in [number for number, own in self.pods.items() if _uid(own) == _uid(pod)]:
            del self.pods[replica]

    def _own_pods(self, store: Store) -> dict[int, Object]:
        pods: dict[int, Object] = {}
        for pod in store.by_index("owner", self.view.uid):
            replica = replica_of(pod)
            if replica is not None:
                pods[replica] = pod
        return pods


def _uid(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


def pod_indexers() -> dict[str, Any]:
    """The indexes that the pods' informer needs."""
    return {
        "owner": lambda pod: [owner_uid(pod)] if owner_uid(pod) else [],
        "node": lambda pod: [pod["spec"]["nodeName"]] if (pod.get("spec") or {}).get("nodeName") else [],
    }
