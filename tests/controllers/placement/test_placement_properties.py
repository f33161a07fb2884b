"""Placement is all or nothing, never over capacity, deterministic, and no worse
than looking at every node."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apiserver.controllers.placement.fleet import Fleet
from apiserver.controllers.placement.model import Accelerators, Demand, NodeFacts, Pending, Running, Usage
from apiserver.controllers.placement.nominate import nominate
from apiserver.controllers.placement.plan import Planner
from apiserver.controllers.placement.preempt import victims

GPU = "nvidia.com/gpu"

nodes = st.lists(
    st.tuples(
        st.integers(0, 8),  # usable GPUs
        st.integers(0, 8),  # CPUs
        st.sampled_from(["a", "b", "c"]),  # zone
        st.sampled_from(["H100", "A100"]),
        st.sampled_from(["", "", "not ready"]),
    ),
    max_size=10,
)
demands = st.builds(
    Demand,
    resource=st.just(GPU),
    gpus=st.integers(1, 8),
    products=st.sampled_from([(), ("H100",), ("A100", "H100")]),
    cpu=st.integers(0, 3000),
    selector=st.sampled_from([(), (("zone", "a"),)]),
)
jobs = st.lists(st.tuples(demands, st.integers(1, 4), st.integers(0, 2)), max_size=12)


def fleet_of(described: list[tuple[int, int, str, str, str]]) -> Fleet:
    fleet = Fleet()
    for number, (usable, cpus, zone, product, obstacle) in enumerate(described):
        facts = NodeFacts(
            f"node-{number}",
            zone=zone,
            labels={"zone": zone},
            obstacle=obstacle,
            cpu=cpus * 1000,
            pods=10,
            accelerators={GPU: Accelerators(product, usable)},
        )
        fleet.set_node(facts, {}, Usage())
    return fleet


def pending_of(described: list[tuple[Demand, int, int]]) -> list[Pending]:
    return [
        Pending(f"ns/job-{number}", demand, replicas, priority, float(number))
        for number, (demand, replicas, priority) in enumerate(described)
    ]


def host_room(fleet: Fleet, demand: Demand) -> int:
    """How many replicas fit into the fleet, node by node."""
    return sum(
        node.room(demand)
        for node in fleet.nodes.values()
        if not node.facts.obstacle
        and node.selected(demand)
        and (not demand.products or node.facts.accelerators[GPU].product in demand.products)
    )


@given(nodes, jobs)
def test_what_is_planned_fits_and_is_all_or_nothing(
    described: list[tuple[int, int, str, str, str]], wanted: list[tuple[Demand, int, int]]
) -> None:
    fleet = fleet_of(described)
    for decision in Planner(fleet).plan(pending_of(wanted), 0.0):
        if decision.assignment is not None:
            assert sum(count for _, count in decision.assignment) == decision.job.replicas
            assert len({name for name, _ in decision.assignment}) == len(decision.assignment)
    for node in fleet.nodes.values():
        assert node.free[GPU] >= 0
        assert node.cpu >= 0
        assert node.pods >= 0


@given(nodes, demands, st.integers(1, 6))
def test_a_gang_is_placed_exactly_when_there_is_room_for_it(
    described: list[tuple[int, int, str, str, str]], demand: Demand, replicas: int
) -> None:
    fleet = fleet_of(described)
    found = nominate(fleet, demand, replicas)
    assert (found is not None) == (host_room(fleet, demand) >= replicas)


@given(nodes, demands)
def test_one_replica_goes_where_least_is_left_over(
    described: list[tuple[int, int, str, str, str]], demand: Demand
) -> None:
    fleet = fleet_of(described)
    found = nominate(fleet, demand, 1)
    if found is not None:
        fitting = [
            node.free[GPU]
            for node in fleet.nodes.values()
            if not node.facts.obstacle
            and node.room(demand)
            and node.selected(demand)
            and (not demand.products or node.facts.accelerators[GPU].product in demand.products)
        ]
        assert fleet.nodes[found[0][0]].free[GPU] == min(fitting)


@given(nodes, demands, st.integers(2, 6))
def test_a_gang_stays_in_one_zone_if_one_can_hold_it(
    described: list[tuple[int, int, str, str, str]], demand: Demand, replicas: int
) -> None:
    fleet = fleet_of(described)
    found = nominate(fleet, demand, replicas)
    if found is None:
        return
    zones = {fleet.nodes[name].facts.zone for name, _ in found}
    able = [
        zone
        for zone in "abc"
        if host_room(fleet_of([each if each[2] == zone else (0, 0, *each[2:]) for each in described]), demand)
        >= replicas
    ]
    assert len(zones) == 1 or not able


@given(nodes, demands, st.integers(2, 6))
def test_a_gang_takes_the_fewest_nodes_of_its_zone(
    described: list[tuple[int, int, str, str, str]], demand: Demand, replicas: int
) -> None:
    fleet = fleet_of([(usable, cpus, "a", product, why) for usable, cpus, _, product, why in described])
    found = nominate(fleet, demand, replicas)
    if found is None:
        return
    rooms = sorted(
        (
            node.room(demand)
            for node in fleet.nodes.values()
            if not node.facts.obstacle
            and node.selected(demand)
            and (not demand.products or node.facts.accelerators[GPU].product in demand.products)
        ),
        reverse=True,
    )
    fewest = next(count for count in range(1, len(rooms) + 1) if sum(rooms[:count]) >= replicas)
    assert len(found) == fewest


@given(nodes, jobs)
def test_the_same_facts_give_the_same_plan_in_whatever_order_they_came(
    described: list[tuple[int, int, str, str, str]], wanted: list[tuple[Demand, int, int]]
) -> None:
    one = Planner(fleet_of(described)).plan(pending_of(wanted), 0.0)
    fleet = Fleet()
    for node in reversed(list(fleet_of(described).nodes.values())):
        fleet.set_node(node.facts, {}, Usage())
    other = Planner(fleet).plan(reversed(pending_of(wanted)), 0.0)
    assert one == other


@given(nodes, jobs)
def test_giving_back_restores_the_fleet(
    described: list[tuple[int, int, str, str, str]], wanted: list[tuple[Demand, int, int]]
) -> None:
    fleet = fleet_of(described)
    decisions = Planner(fleet).plan(pending_of(wanted), 0.0)
    for decision in decisions:
        for name, count in decision.assignment or ():
            fleet.give(name, decision.job.demand, count)
    assert {name: (node.free, node.cpu) for name, node in fleet.nodes.items()} == {
        name: (node.free, node.cpu) for name, node in fleet_of(described).nodes.items()
    }


@given(nodes, jobs, demands, st.integers(1, 3))
def test_preemption_evicts_only_lower_priority_and_nothing_that_is_not_needed(
    described: list[tuple[int, int, str, str, str]],
    wanted: list[tuple[Demand, int, int]],
    demand: Demand,
    replicas: int,
) -> None:
    fleet = fleet_of(described)
    running = [
        Running(decision.job.key, decision.job.demand, decision.assignment, decision.job.priority)
        for decision in Planner(fleet).plan(pending_of(wanted), 0.0)
        if decision.assignment is not None
    ]
    job = Pending("ns/high", demand, replicas, priority=2)
    if nominate(fleet, demand, replicas) is not None:
        return
    before = {name: (dict(node.free), node.cpu, node.pods) for name, node in fleet.nodes.items()}
    chosen = victims(fleet, job, running)
    assert {name: (node.free, node.cpu, node.pods) for name, node in fleet.nodes.items()} == before
    if chosen is None:
        return
    by_key = {other.key: other for other in running}
    assert all(by_key[key].priority < 2 for key in chosen)
    for spared in [None, *chosen]:
        for key in chosen:
            if key != spared:
                for name, count in by_key[key].assignment:
                    fleet.give(name, by_key[key].demand, count)
        fits = nominate(fleet, demand, replicas) is not None
        assert fits == (spared is None)
        for key in chosen:
            if key != spared:
                for name, count in by_key[key].assignment:
                    fleet.take(name, by_key[key].demand, count)
