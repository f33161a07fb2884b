"""Nodes that are emptied by hand: what is evicted there comes back elsewhere."""

from __future__ import annotations

import pytest
from fakecluster import Lab

CORDONED = {"unschedulable": True}
TAINTED = {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}


@pytest.mark.parametrize("spec", [CORDONED, TAINTED], ids=["cordoned", "tainted"])
async def test_a_pod_that_is_evicted_from_a_closed_node_is_made_on_another_one(spec) -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.node("gpu-2")
    async with lab.running():
        lab.submit("job", gpuCount=8)
        await lab.run_kubelets()
        (node,) = lab.nodes_of("job")
        close(lab, node, spec)
        await lab.settle()
        assert lab.nodes_of("job") == [node], "closing a node is no reason to stop what runs there"
        lab.cluster.remove(("pods", "ml", "job-0"))
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"
        assert lab.status("job")["attempts"] == 1
        assert lab.nodes_of("job") == [{"gpu-1": "gpu-2", "gpu-2": "gpu-1"}[node]]
        assert lab.gpu_node(node)["free"] == 8
        assert "ReplicaLost" in lab.events()


async def test_a_tolerated_taint_closes_nothing() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("job", tolerations=[{"key": "maintenance", "operator": "Exists"}])
        await lab.run_kubelets()
        close(lab, "gpu-1", TAINTED)
        lab.cluster.remove(("pods", "ml", "job-0"))
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"
        assert "PodDeleted" in lab.events()


def close(lab: Lab, node: str, spec: dict[str, object]) -> None:
    live = lab.cluster.get(("nodes", "", node))
    live.setdefault("spec", {}).update(spec)
    lab.cluster.put(("nodes", "", node), live)
