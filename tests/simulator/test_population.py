"""The simulated fleet, as it is made and made anew."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.simulator.fleet import GPU, Fleet
from apiserver.simulator.population import NAMESPACES, await_ledger, populate

NOW = "2026-01-01T00:00:00Z"


async def capacity(cluster, name="gpu-0"):
    return (await cluster.get("nodes", name, ""))["status"]["capacity"][GPU]


async def test_a_fleet_has_as_many_nodes_as_asked_for_with_all_that_placement_reads(cluster):
    await populate(cluster.objects, Fleet(8, 4), NOW)
    nodes, _ = await cluster.objects.list("nodes")
    assert [node["metadata"]["name"] for node in nodes] == [f"gpu-{index}" for index in range(8)]
    assert {node["status"]["allocatable"][GPU] for node in nodes} == {"4"}
    assert len({node["metadata"]["labels"]["nvidia.com/gpu.product"] for node in nodes}) == 2
    assert len({node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes}) == 2
    assert sorted(await cluster.names("namespaces")) == sorted(NAMESPACES)


@pytest.mark.parametrize("nodes", [0, 1, 100])
async def test_any_size_will_do(cluster, nodes):
    await populate(cluster.objects, Fleet(nodes), NOW)
    assert len(await cluster.names("nodes")) == nodes


async def test_another_size_changes_what_is_there_and_keeps_what_people_did(cluster):
    await populate(cluster.objects, Fleet(4, 8), NOW)
    await cluster.node("mine")
    cordoned = await cluster.get("nodes", "gpu-0", "")
    cordoned["spec"] = {"unschedulable": True}
    cordoned["metadata"]["labels"]["team"] = "ml"
    await cluster.objects.update("nodes", cordoned)
    await populate(cluster.objects, Fleet(2, 16), NOW)
    assert await cluster.names("nodes") == ["gpu-0", "gpu-1", "mine"]
    assert await capacity(cluster) == "16"
    node = await cluster.get("nodes", "gpu-0", "")
    assert node["spec"]["unschedulable"]
    assert node["metadata"]["labels"]["team"] == "ml"
    assert node["metadata"]["labels"]["nvidia.com/gpu.count"] == "16"


async def test_populating_again_writes_nothing(cluster):
    await populate(cluster.objects, Fleet(3), NOW)
    _, before = await cluster.objects.list("nodes")
    await populate(cluster.objects, Fleet(3), "2026-01-02T00:00:00Z")
    _, after = await cluster.objects.list("nodes")
    assert before == after


async def test_the_ledger_is_waited_for_as_long_as_told_and_not_at_all_without_gpus(cluster):
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await await_ledger(cluster.objects, Fleet(0), 60)
    await await_ledger(cluster.objects, Fleet(3, 0), 60)
    await await_ledger(cluster.objects, Fleet(1), 0.01)
    assert loop.time() - begin < 30
    waiting = asyncio.ensure_future(await_ledger(cluster.objects, Fleet(1), 60))
    node = {"apiVersion": "ai.example.com/v1", "kind": "GPUNode", "metadata": {"name": "gpu-0"}}
    made = await cluster.objects.create("gpunodes", node)
    await cluster.objects.update_status("gpunodes", {**made, "status": {"resource": GPU, "capacity": 8}})
    await asyncio.wait_for(waiting, 10)
