"""Simulated GPU nodes: as many as asked for, with the labels that a GPU operator would put on real ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

GPU = "nvidia.com/gpu"
PRODUCTS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB")
ZONES = ("zone-a", "zone-b")


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many nodes there are, and how many GPUs each has."""

    nodes: int = 8
    gpus_per_node: int = 8

    def manifests(self, now: str) -> list[Object]:
        """The Node objects, ready as of `now` (RFC 3339)."""
        return [self._node(index, now) for index in range(self.nodes)]

    def _node(self, index: int, now: str) -> Object:
        name = f"gpu-{index}"
        half = index * 2 // max(self.nodes, 1)
        resources = {
            "cpu": "128",
            "memory": "1Ti",
            "pods": "110",
            "ephemeral-storage": "2Ti",
            GPU: str(self.gpus_per_node),
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "topology.kubernetes.io/zone": ZONES[half % len(ZONES)],
                    "nvidia.com/gpu.product": PRODUCTS[half % len(PRODUCTS)],
                    "nvidia.com/gpu.count": str(self.gpus_per_node),
                },
            },
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "reason": "KubeletReady",
                        "message": "the simulated kubelet is ready",
                        "lastHeartbeatTime": now,
                        "lastTransitionTime": now,
                    }
                ],
                "nodeInfo": {"kubeletVersion": "simulated", "operatingSystem": "linux"},
            },
        }
