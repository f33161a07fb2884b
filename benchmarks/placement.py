"""How many placement decisions a second the planner makes, without any I/O, and what a larger fleet costs."""

from __future__ import annotations

import random
import time
from pathlib import Path

from apiserver.controllers.placement.fleet import Fleet
from apiserver.controllers.placement.model import Accelerators, Demand, NodeFacts, Pending, Usage
from apiserver.controllers.placement.plan import Planner
from benchmarks.peers import OURS
from benchmarks.report import Line

RESOURCE = "nvidia.com/gpu"
PRODUCT = "NVIDIA-H100-80GB-HBM3"
GPUS = 8
NODES, SMALL = 5000, 50
JOBS = 20_000


def _fleet(nodes: int) -> Fleet:
    fleet = Fleet()
    for number in range(nodes):
        facts = NodeFacts(
            f"node-{number:05d}",
            zone=f"zone-{number % 4}",
            cpu=128_000,
            memory=1 << 40,
            pods=110,
            accelerators={RESOURCE: Accelerators(PRODUCT, GPUS)},
        )
        fleet.set_node(facts, {}, Usage())
    return fleet


def _jobs(count: int) -> list[Pending]:
    chance = random.Random(1)
    return [
        Pending(
            f"ns/job-{number}",
            Demand(RESOURCE, chance.choice((1, 1, 1, 2, 2, 4)), cpu=1000, memory=1 << 30),
            replicas=1,
            priority=chance.choice((0, 0, 10)),
            since=float(number),
        )
        for number in range(count)
    ]


def _seconds(nodes: int, jobs: int) -> float:
    """Seconds a decision. The jobs take nine tenths of the fleet's GPUs: hardly any is refused."""
    planner = Planner(_fleet(nodes))
    waiting = _jobs(jobs)
    began = time.perf_counter()
    decisions = planner.plan(waiting, now=0.0)
    spent = time.perf_counter() - began
    assert sum(decision.assignment is not None for decision in decisions) > 0.95 * jobs
    return spent / jobs


def placement(folder: Path, rounds: int) -> list[Line]:  # noqa: ARG001 - as the others
    """Decisions about 20,000 jobs on 5,000 nodes; and the cost of one against that on 50 nodes."""
    large = [_seconds(NODES, JOBS) for _ in range(rounds)]
    small = [_seconds(SMALL, JOBS * SMALL // NODES) for _ in range(rounds)]
    cost = [a / b for a, b in zip(large, small, strict=True)]
    return [
        Line(
            f"placement decisions, {NODES:,} nodes, {JOBS:,} jobs",
            "1/s",
            {OURS: [1 / s for s in large]},
            target=10_000,
        ),
        Line(
            f"  cost of one, {NODES:,} nodes : {SMALL} nodes", "", {OURS: cost}, target=2, less_is_better=True
        ),
    ]
