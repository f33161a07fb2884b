"""Controllers on an in-memory cluster with fake time, and a kubelet made of the test's own hands."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from apiserver.controllers.clock import FakeClock, timestamp
from apiserver.controllers.run import Controllers
from fakecluster.host import MemoryHost
from fakecluster.objects import MemoryObjects
from fakecluster.store import MemoryStore

Object = dict[str, Any]
GPU = "nvidia.com/gpu"


def ready_node(
    name: str, gpus: int = 8, *, product: str = "H100", zone: str = "a", resource: str = GPU
) -> Object:
    """A node as the host cluster has it."""
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    if gpus:
        amounts[resource] = str(gpus)
    labels = {"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}
    labels[f"{resource.partition('/')[0]}/gpu.product"] = product
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": amounts,
            "allocatable": dict(amounts),
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    }


class Lab:
    """One cluster. `start` the controllers, change the world, `settle`, look."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.own = MemoryStore(self.clock)
        self.cluster = MemoryStore(self.clock)
        self.objects = MemoryObjects(self.own)
        self.host = MemoryHost(self.cluster)
        self.controllers = self.make("one")

    def make(self, identity: str, **more: Any) -> Controllers:
        return Controllers(objects=self.objects, host=self.host, clock=self.clock, identity=identity, **more)

    @contextlib.asynccontextmanager
    async def running(self, *others: Controllers) -> AsyncIterator[Lab]:
        tasks = [asyncio.ensure_future(each.run()) for each in (self.controllers, *others)]
        try:
            await self.settle()
            yield self
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def settle(self, seconds: float = 0.0) -> None:
        """Let everything happen that is due, and what becomes due within so many
        seconds and a little more."""
        left = seconds
        for _ in range(6):
            await self.clock.settle()
            await self.clock.advance(0.3)
        while left > 0:
            step = min(left, 5.0)
            await self.clock.advance(step)
            left -= step
        await self.clock.settle()

    # -- the host cluster

    def node(self, name: str, gpus: int = 8, **more: Any) -> None:
        self.cluster.create(("nodes", "", name), ready_node(name, gpus, **more))

    def set_node(self, name: str, *, ready: bool = True, gpus: int | None = None) -> None:
        node = self.cluster.get(("nodes", "", name))
        condition = node["status"]["conditions"][0]
        if (condition["status"] == "True") != ready:
            condition["status"] = "True" if ready else "Unknown"
            condition["lastTransitionTime"] = timestamp(self.clock.now())
        if gpus is not None:
            node["status"]["allocatable"][GPU] = str(gpus)
        self.cluster.put(("nodes", "", name), node)

    def drop_node(self, name: str) -> None:
        self.cluster.remove(("nodes", "", name))

    def pods(self, namespace: str = "ml") -> dict[str, Object]:
        return {pod["metadata"]["name"]: pod for pod in self.cluster.list("pods", namespace)}

    def pod(self, name: str, namespace: str = "ml") -> Object:
        return self.cluster.get(("pods", namespace, name))

    def set_pod(self, name: str, phase: str, *, namespace: str = "ml", **status: Any) -> None:
        pod = self.pod(name, namespace)
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
        pod["status"] = {"phase": phase, "conditions": [ready], **status}
        self.cluster.put(("pods", namespace, name), pod)

    def foreign_pod(self, name: str, node: str, gpus: int, *, namespace: str = "other") -> None:
        resources = {"limits": {GPU: str(gpus)}, "requests": {GPU: str(gpus), "cpu": "1"}}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"nodeName": node, "containers": [{"name": "x", "resources": resources}]},
            "status": {"phase": "Running"},
        }
        self.cluster.create(("pods", namespace, name), pod)

    def kubelets(self) -> None:
        """Start what is bound, end what is being deleted."""
        for (kind, namespace, name), pod in list(self.cluster.objects.items()):
            if kind != "pods" or not pod["spec"].get("nodeName"):
                continue
            if pod["metadata"].get("deletionTimestamp"):
                self.cluster.remove((kind, namespace, name))
            elif (pod.get("status") or {}).get("phase", "Pending") == "Pending":
                self.set_pod(name, "Running", namespace=namespace)

    async def run_kubelets(self, seconds: float = 0.0) -> None:
        """Kubelets and controllers in turn, until nothing moves."""
        for _ in range(4):
            await self.settle()
            self.kubelets()
        await self.settle(seconds)

    # -- our own objects

    def submit(self, name: str, namespace: str = "ml", **spec: Any) -> Object:
        defaults = {
            "image": "vllm:1",
            "gpuCount": 1,
            "gpuResource": GPU,
            "replicas": 1,
            "priority": 0,
            "restartPolicy": "OnFailure",
            "backoffLimit": 3,
            "suspend": False,
        }
        job = {
            "apiVersion": "ai.example.com/v1",
            "kind": "InferenceJob",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {**defaults, **spec},
            "status": {"phase": "Pending"},
        }
        return self.own.create(("inferencejobs", namespace, name), job)

    def job(self, name: str, namespace: str = "ml") -> Object:
        return self.own.get(("inferencejobs", namespace, name))

    def status(self, name: str, namespace: str = "ml") -> Object:
        status: Object = self.job(name, namespace).get("status") or {}
        return status

    def condition(self, name: str, kind: str) -> Object:
        found = [item for item in self.status(name).get("conditions") or () if item["type"] == kind]
        return found[0] if found else {}

    async def change(self, name: str, **spec: Any) -> None:
        job = self.job(name)
        job["spec"].update(spec)
        await self.objects.update("inferencejobs", job)

    async def annotate(self, name: str, key: str, value: str) -> None:
        job = self.job(name)
        job["metadata"].setdefault("annotations", {})[key] = value
        await self.objects.update("inferencejobs", job)

    async def delete(self, name: str) -> None:
        await self.objects.delete("inferencejobs", self.job(name))

    def exists(self, name: str, namespace: str = "ml") -> bool:
        return ("inferencejobs", namespace, name) in self.own.objects

    def gpu_node(self, name: str) -> Object:
        status: Object = self.own.get(("gpunodes", "", name))["status"]
        return status

    def nodes_of(self, name: str) -> list[str]:
        return [item["node"] for item in self.status(name).get("placements") or ()]

    def events(self, namespace: str = "ml") -> list[str]:
        return [event["reason"] for event in self.cluster.list("events", namespace)]
