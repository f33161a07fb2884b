"""One round of decisions over the queue.

Order: priority, then gangs that heal, then age. A job that does not fit is passed over, so that it never
blocks a smaller one (backfill). That alone would starve big gangs: each GPU that comes free goes to a small
job. So the first job of the queue that has waited for `patience` seconds gets a *hold*: the nodes on which
it can be put soonest are kept from jobs behind it until it fits. There is one hold at a time, it covers only
as many nodes as the gang needs, and it ends after `hold` seconds, whereupon the job waits for another
`patience`: smaller jobs are slowed down, never stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from apiserver.controllers.placement.fleet import Fleet, Node
from apiserver.controllers.placement.model import Assignment, Demand, Pending
from apiserver.controllers.placement.nominate import NONE, nominate

PATIENCE_SECONDS = 300.0
HOLD_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Nodes that are kept for a job."""

    key: str
    nodes: frozenset[str]
    since: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a job in a round. `position` is how many jobs of the round did not fit and go first."""

    job: Pending
    assignment: Assignment | None
    position: int = 0


@dataclass(slots=True)
class Planner:
    """Plans rounds; remembers between them what does not fit, and the hold.
    Times are seconds of one clock."""

    fleet: Fleet
    patience: float = PATIENCE_SECONDS
    hold_seconds: float = HOLD_SECONDS
    hold: Hold | None = None
    _failed: dict[Demand, int] = field(default_factory=dict)
    _failed_behind_hold: dict[Demand, int] = field(default_factory=dict)
    _failed_for: tuple[object, ...] = ()
    _passed_over: dict[str, float] = field(default_factory=dict)

    def plan(
        self,
        jobs: Iterable[Pending],
        now: float,
        *,
        excluded: AbstractSet[str] = NONE,
        limit: int | None = None,
    ) -> list[Decision]:
        """Decide about all jobs, in order. What is assigned is booked in the fleet: `give` it back if it
        comes to nothing. `excluded` nodes get nothing new. At most `limit` jobs are assigned."""
        queue = sorted(jobs, key=order)
        self._keep_hold(queue, now)
        self._recall(excluded)
        decisions: list[Decision] = []
        closed: AbstractSet[str] = excluded
        failed = self._failed
        assigned = waiting = 0
        for job in queue:
            found = None
            if limit is None or assigned < limit:
                found = self._try(job, closed, failed)
            decisions.append(Decision(job, found, waiting))
            if found is not None:
                assigned += 1
                continue
            waiting += 1
            if self.hold is not None and self.hold.key == job.key:
                closed = closed | self.hold.nodes
                failed = self._failed_behind_hold
        self._place_hold(decisions, now, excluded)
        return decisions

    def _try(self, job: Pending, closed: AbstractSet[str], failed: dict[Demand, int]) -> Assignment | None:
        """Nominate and book. `failed` remembers the smallest gang of each demand that did not fit."""
        least = failed.get(job.demand)
        if least is not None and job.replicas >= least:
            return None
        found = nominate(self.fleet, job.demand, job.replicas, excluded=closed)
        if found is None:
            failed[job.demand] = job.replicas
            return None
        for name, count in found:
            self.fleet.take(name, job.demand, count)
        return found

    def _recall(self, excluded: AbstractSet[str]) -> None:
        """Forget what did not fit once anything has come free, or other nodes are closed."""
        state = (self.fleet.grown, frozenset(excluded), self.hold)
        if state != self._failed_for:
            self._failed.clear()
            self._failed_behind_hold.clear()
            self._failed_for = state

    def _keep_hold(self, queue: Sequence[Pending], now: float) -> None:
        keys = {job.key for job in queue}
        self._passed_over = {key: since for key, since in self._passed_over.items() if key in keys}
        if self.hold is None:
            return
        if self.hold.key not in keys:
            self.hold = None
        elif now - self.hold.since >= self.hold_seconds:
            self._passed_over[self.hold.key] = now
            self.hold = None

    def _place_hold(self, decisions: Sequence[Decision], now: float, excluded: AbstractSet[str]) -> None:
        """Give the hold to the first job that has waited long enough and could be
        placed on an emptier fleet."""
        for decision in decisions:
            if decision.assignment is not None:
                continue
            since = self._passed_over.setdefault(decision.job.key, now)
            if self.hold is None and now - since >= self.patience:
                nodes = soonest(self.fleet, decision.job, excluded)
                if nodes:
                    self.hold = Hold(decision.job.key, nodes, now)


def order(job: Pending) -> tuple[int, bool, float, str]:
    """The sort key of the queue."""
    return (-job.priority, not job.healing, job.since, job.key)


def soonest(fleet: Fleet, job: Pending, excluded: AbstractSet[str]) -> frozenset[str]:
    """The fewest nodes that would hold the job if our own jobs left them, those with most room now first;
    empty if even the empty fleet could not hold it."""
    gpus = job.demand.gpus
    ranked: list[tuple[int, int, str]] = []  # free now and in all, both negated: most first
    for name in {name for pool in fleet.pools(job.demand) for bucket in pool.buckets for name in bucket}:
        node = fleet.nodes[name]
        room = _empty(node, job.demand) // gpus
        if room and name not in excluded and node.selected(job.demand):
            ranked.append((-node.free[job.demand.resource], -room, name))
    ranked.sort()
    chosen: list[str] = []
    left = job.replicas
    for _, negated_room, name in ranked:
        chosen.append(name)
        left += negated_room
        if left <= 0:
            return frozenset(chosen)
    return frozenset()


def _empty(node: Node, demand: Demand) -> int:
    """The GPUs of a node that our jobs could have if none of them ran there."""
    return node.facts.accelerators[demand.resource].usable
