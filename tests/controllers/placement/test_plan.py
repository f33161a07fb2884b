"""The queue: who goes first, who passes, and that nobody starves."""

from __future__ import annotations

from apiserver.controllers.placement.explain import explain
from apiserver.controllers.placement.fleet import Fleet
from apiserver.controllers.placement.model import (
    Accelerators,
    Demand,
    NodeFacts,
    Pending,
    Taint,
    Toleration,
    Usage,
)
from apiserver.controllers.placement.nominate import nominate
from apiserver.controllers.placement.plan import Planner

GPU = "nvidia.com/gpu"


def fleet_of(*sizes: int, used: int = 0) -> Fleet:
    fleet = Fleet()
    for number, size in enumerate(sizes):
        facts = NodeFacts(f"n{number}", cpu=100_000, pods=100, accelerators={GPU: Accelerators("H100", size)})
        fleet.set_node(facts, {GPU: used}, Usage())
    return fleet


def job(name: str, gpus: int, replicas: int = 1, *, priority: int = 0, since: float = 0.0) -> Pending:
    return Pending(name, Demand(GPU, gpus), replicas, priority, since)


def placed(planner: Planner, *jobs: Pending, now: float = 0.0) -> list[str]:
    return [decision.job.key for decision in planner.plan(jobs, now) if decision.assignment is not None]


def test_higher_priority_then_age_decide_who_goes_first() -> None:
    planner = Planner(fleet_of(2))
    order = placed(planner, job("old", 1), job("young", 1, since=1.0), job("high", 1, priority=1, since=2.0))
    assert order == ["high", "old"]


def test_a_job_that_does_not_fit_is_passed_over() -> None:
    planner = Planner(fleet_of(4))
    decisions = planner.plan([job("big", 8), job("small", 1, since=1.0)], 0.0)
    assert [(each.job.key, each.assignment is not None, each.position) for each in decisions] == [
        ("big", False, 0),
        ("small", True, 1),
    ]


def test_a_big_gang_gets_its_nodes_held_and_is_placed_when_they_empty() -> None:
    fleet = fleet_of(8, 8, 8, used=4)
    planner = Planner(fleet, patience=100.0)
    big = job("big", 8, 1)
    assert placed(planner, big, job("s1", 4, since=1.0)) == ["s1"]
    assert placed(planner, big, now=101.0) == []
    assert planner.hold is not None
    held = next(iter(planner.hold.nodes))
    decisions = planner.plan([big, job("s2", 4, since=2.0), job("s3", 4, since=3.0)], 102.0)
    used = {name for each in decisions for name, _ in each.assignment or ()}
    assert held not in used, "what is held goes to nobody behind"
    assert len(used) == 1, "other nodes go on serving small jobs"
    fleet.give(held, Demand(GPU, 4), 1)
    assert placed(planner, big, now=103.0) == ["big"]


def test_a_hold_ends_so_that_small_jobs_are_never_stopped_for_ever() -> None:
    planner = Planner(fleet_of(8, used=4), patience=10.0, hold_seconds=50.0)
    big, small = job("big", 8), job("small", 4, since=1.0)
    placed(planner, big)
    assert placed(planner, big, now=11.0) == []
    assert placed(planner, big, small, now=12.0) == []
    assert placed(planner, big, small, now=62.0) == ["small"]


def test_a_job_that_no_empty_fleet_could_hold_gets_no_hold() -> None:
    planner = Planner(fleet_of(8, used=4), patience=10.0)
    placed(planner, job("huge", 16))
    assert placed(planner, job("huge", 16), job("small", 4, since=1.0), now=20.0) == ["small"]
    assert planner.hold is None


def test_higher_priority_may_use_what_is_held_for_others() -> None:
    planner = Planner(fleet_of(8, used=4), patience=10.0)
    placed(planner, job("big", 8))
    placed(planner, job("big", 8), now=20.0)
    assert planner.hold is not None
    assert placed(planner, job("big", 8), job("high", 4, priority=1), now=21.0) == ["high"]


def test_what_did_not_fit_is_tried_again_when_something_comes_free() -> None:
    fleet = fleet_of(8, used=8)
    planner = Planner(fleet)
    assert placed(planner, job("a", 4)) == []
    fleet.give("n0", Demand(GPU, 4), 1)
    assert placed(planner, job("a", 4)) == ["a"]


def test_reasons_are_counted_node_by_node() -> None:
    fleet = fleet_of(8, 8, used=6)
    tainted = NodeFacts("t", taints=(Taint("team", "x", "NoSchedule"),), pods=1)
    fleet.set_node(tainted, {}, Usage())
    fleet.set_node(NodeFacts("c", obstacle="not ready"), {}, Usage())
    fleet.set_node(NodeFacts("p", pods=9), {}, Usage())
    assert explain(fleet, Demand(GPU, 4), 1) == (
        "0/5 nodes can host a replica: 2 not enough free nvidia.com/gpu (need 4), 1 no nvidia.com/gpu, "
        "1 not ready, 1 untolerated taint {team: x}"
    )
    assert explain(fleet, Demand(GPU, 2), 3).startswith(
        "2/5 nodes can host a replica, room for 2 of 3 replicas: "
    )


def test_tainted_nodes_are_for_those_who_tolerate_them() -> None:
    fleet = Fleet()
    taint = Taint("team", "x", "NoSchedule")
    facts = NodeFacts("t", taints=(taint,), pods=9, accelerators={GPU: Accelerators("", 8)})
    fleet.set_node(facts, {}, Usage())
    assert nominate(fleet, Demand(GPU, 1), 1) is None
    for toleration in (
        Toleration("team", "Equal", "x"),
        Toleration("", "Exists"),
        Toleration("team", "Exists"),
    ):
        assert nominate(fleet, Demand(GPU, 1, tolerations=(toleration,)), 1) == (("t", 1),)
    assert nominate(fleet, Demand(GPU, 1, tolerations=(Toleration("team", "Equal", "y"),)), 1) is None


def test_a_thousand_decisions_on_five_thousand_nodes_cost_about_what_they_cost_on_fifty() -> None:
    """Counts the nodes that are looked at, not the time: this must hold on any machine."""

    def looked_at(size: int) -> int:
        fleet = fleet_of(*[8] * size)
        planner = Planner(fleet)
        seen = 0
        room = type(next(iter(fleet.nodes.values()))).room

        def counting(node: object, demand: Demand) -> int:
            nonlocal seen
            seen += 1
            return room(node, demand)  # type: ignore[arg-type]

        kind = type(next(iter(fleet.nodes.values())))
        kind.room = counting  # type: ignore[method-assign,assignment]
        try:
            planner.plan([job(f"j{number}", 2, since=float(number)) for number in range(100)], 0.0)
        finally:
            kind.room = room  # type: ignore[method-assign]
        return seen

    assert looked_at(5000) <= 2 * looked_at(50)
