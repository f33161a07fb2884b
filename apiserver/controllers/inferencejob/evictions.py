"""Which jobs have to leave for others of higher priority.
Decided here, done by the victim's own reconciliation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from apiserver.controllers import metrics
from apiserver.controllers.inferencejob.cluster import Cluster
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.informer import Informer
from apiserver.controllers.placement.model import Pending, Running
from apiserver.controllers.placement.nominate import nominate
from apiserver.controllers.placement.preempt import victims

PREEMPTORS = 8
"""Jobs of a round that may look for victims."""


class Evictions:
    """Jobs to be evicted, with the message for them.
    In memory: a new leader decides anew what was not begun."""

    def __init__(self, cluster: Cluster, jobs: Informer, wake_job: Callable[[str, float], None]) -> None:
        self._cluster = cluster
        self._jobs = jobs
        self._wake_job = wake_job
        self._messages: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        """Why the job is to leave; None if it is not."""
        return self._messages.get(key)

    def forget(self, key: str) -> bool:
        """The job has left; True if it had to."""
        return self._messages.pop(key, None) is not None

    def decide(
        self, waiting: Sequence[Pending], running: Mapping[str, Running], closed: frozenset[str]
    ) -> None:
        """Find victims for the first of the waiting jobs that outrank somebody.
        The fleet is as before afterwards."""
        lowest = min((other.priority for other in running.values()), default=None)
        ranked = [job for job in waiting if lowest is not None and job.priority > lowest]
        if not ranked:
            return
        # What is supposed here is undone by working the touched nodes out anew.
        leaving = self._leaving(running)
        for key in leaving:
            self._suppose_gone(running[key])
        for job in ranked[:PREEMPTORS]:
            self._decide_for(job, running, closed, leaving)
        self._cluster.refresh()

    def _decide_for(
        self, job: Pending, running: Mapping[str, Running], closed: frozenset[str], leaving: set[str]
    ) -> None:
        """Evict for one job, unless what is leaving already makes room for it."""
        fleet = self._cluster.fleet
        room = nominate(fleet, job.demand, job.replicas, excluded=closed)
        if room is None:
            staying = [other for key, other in running.items() if key not in leaving]
            for key in victims(fleet, job, staying, excluded=closed) or ():
                self._suppose_gone(running[key])
                leaving.add(key)
                self._messages[key] = f"Preempted by {job.key} of priority {job.priority}"
                metrics.placements.labels("preempted").inc()
                self._wake_job(key, 0.0)
            room = nominate(fleet, job.demand, job.replicas, excluded=closed)
        # What comes free for this job is not free for the next one of the queue.
        for node, count in room or ():
            fleet.take(node, job.demand, count)
            self._cluster.touch(node)

    def _suppose_gone(self, other: Running) -> None:
        for node, count in other.assignment:
            self._cluster.fleet.give(node, other.demand, count)
            self._cluster.touch(node)

    def _leaving(self, running: Mapping[str, Running]) -> set[str]:
        """Jobs that hold GPUs and are giving them back."""
        leaving = {key for key in self._messages if key in running}
        for key in running:
            job = self._jobs.store.get(key)
            if job is not None and (JobView(job).releasing or JobView(job).deleting):
                leaving.add(key)
        return leaving
