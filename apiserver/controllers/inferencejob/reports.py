"""Why jobs wait, as they tell it in their status: node by node, and how many go first.

Bounded on purpose: looking at every node is slow, and a long queue in which everybody moves up by one must
not become a storm of writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apiserver.controllers.clock import Clock
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.placement.explain import explain
from apiserver.controllers.placement.model import Demand, Pending
from apiserver.controllers.placement.plan import Decision, Planner

REPORT_SECONDS = 10.0
REPORTS_PER_SECOND = 50.0
"""So many jobs tell a new place in the queue each second, at most."""
MAX_EXPLAINED = 1024


@dataclass(frozen=True, slots=True)
class Report:
    """Why a job was not placed in the last round, and how many go first."""

    position: int
    message: str
    reason: str = Reason.WAITING


class Reports:
    """The last report of each job. `wake_job` has a job reconciled after so many seconds."""

    def __init__(self, planner: Planner, clock: Clock, wake_job: Callable[[str, float], None]) -> None:
        self.interval = REPORT_SECONDS
        """The least seconds between two reports of one job."""
        self.told_old = False
        """Whether the last round told reasons of an earlier one:
        another look is due after `REPORT_SECONDS`."""
        self._planner = planner
        self._clock = clock
        self._wake_job = wake_job
        self._reports: dict[str, Report] = {}
        self._explained: dict[tuple[Demand, int], tuple[float, str]] = {}

    def get(self, key: str) -> Report | None:
        """The report about a job; None while there is none."""
        return self._reports.get(key)

    def refuse(self, key: str, nodes: int) -> None:
        """The job has a place on so many nodes, and storage cannot write it down."""
        message = (
            f"The placement on {nodes} nodes is one transaction over {nodes + 1} objects, more than storage "
            "takes (etcd's --max-txn-ops and our --etcd-max-txn-ops, or etcd's --max-request-bytes)"
        )
        report = Report(0, message, Reason.GANG_TOO_LARGE)
        if self._reports.get(key) != report:
            self._reports[key] = report
            self._wake_job(key, 0.0)

    def forget(self, key: str) -> None:
        """The job waits no more."""
        self._reports.pop(key, None)

    async def tell(
        self, waiting: Sequence[Decision], closed: frozenset[str], is_pending: Callable[[str], bool]
    ) -> None:
        """Note why the jobs of a round wait, and wake those for whom that is news."""
        self.told_old = False
        self.interval = max(REPORT_SECONDS, len(waiting) / REPORTS_PER_SECOND)
        for decision in waiting:
            job = decision.job
            report = Report(decision.position, await self._explain(job, closed))
            known = self._reports.get(job.key)
            if known == report or not is_pending(job.key):
                continue
            self._reports[job.key] = report
            self._wake_job(job.key, 0.0 if known is None else self.interval)

    async def _explain(self, job: Pending, closed: frozenset[str]) -> str:
        """Why the job does not fit: looked up, or worked out with a pause for others."""
        now = self._clock.monotonic()
        at, message = self._explained.get((job.demand, job.replicas), (0.0, ""))
        if message and now - at < REPORT_SECONDS:
            self.told_old = self.told_old or now > at
            return message
        hold = self._planner.hold
        held = hold.nodes if hold is not None else frozenset()
        message = explain(self._planner.fleet, job.demand, job.replicas, backed_off=closed, held=held)
        if len(self._explained) >= MAX_EXPLAINED:
            self._explained.clear()
        self._explained[job.demand, job.replicas] = (now, message)
        await asyncio.sleep(0)
        return message
