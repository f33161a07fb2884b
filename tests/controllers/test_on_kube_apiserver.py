"""Informer, lease, events and the whole life of a job against a real kube-apiserver;
our own objects are in memory."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from fakecluster import Lab, MemoryObjects, MemoryStore, ready_node

from apiserver.controllers.clients import is_not_found
from apiserver.controllers.clock import SystemClock
from apiserver.controllers.events import EventRecorder
from apiserver.controllers.informer import Informer
from apiserver.controllers.leaderelection import LeaderElector, LeaseOptions
from apiserver.controllers.listwatch import HostListWatch
from apiserver.controllers.run import Controllers
from apiserver.host import HostClient
from apiserver.machinery.errors import APIError

pytestmark = pytest.mark.e2e
Object = dict[str, Any]


@pytest.fixture
async def host(controlplane: Any) -> AsyncIterator[HostClient]:
    client = await HostClient.from_kubeconfig(str(controlplane.kubeconfig))
    yield client
    await client.close()


@pytest.fixture
async def namespace(host: HostClient) -> str:
    name = f"ctl-{uuid.uuid4().hex[:8]}"
    await host.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


async def eventually(check: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for the real world."""
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def running(*loops: Any) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(loop) for loop in loops]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_informer_streams_its_list_and_follows(host: HostClient, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    await host.create(path, {"metadata": {"name": "before"}})
    source = HostListWatch(host, path)
    informer = Informer(source, SystemClock())
    async with running(informer.run()):
        await eventually(lambda: informer.synced)
        assert f"{namespace}/before" in informer.store
        assert source._streams, "kube-apiserver 1.36 offers streaming lists"
        await host.create(path, {"metadata": {"name": "after"}})
        await eventually(lambda: f"{namespace}/after" in informer.store)
        await host.delete(f"{path}/before")
        await eventually(lambda: f"{namespace}/before" not in informer.store)


async def test_paged_lists_and_streamed_ones_agree(host: HostClient, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(7):
        await host.create(path, {"metadata": {"name": f"c{number}"}})
    streamed, _ = await HostListWatch(host, path).list()
    listed = await host.list(path)
    names = {item["metadata"]["name"] for item in listed["items"]}
    assert {item["metadata"]["name"] for item in streamed} == names
    assert len(names) >= 7


async def test_the_lease_is_held_by_one_and_handed_over(host: HostClient, namespace: str) -> None:
    options = LeaseOptions(namespace, "inference", lease_seconds=4, renew_seconds=2, retry_seconds=0.3)
    working: list[str] = []

    def candidate(name: str) -> Any:
        async def body() -> None:
            working.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                working.remove(name)

        return LeaderElector(host, options, name, SystemClock()).run(body)

    async with running(candidate("two-later")):
        await eventually(lambda: working == ["two-later"])
        async with running(candidate("other")):
            await asyncio.sleep(1)
            assert working == ["two-later"]
    async with running(candidate("third")):
        await eventually(lambda: working == ["third"])
        lease = await host.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/inference")
        assert lease["spec"]["holderIdentity"] == "third"


async def test_events_are_accepted_and_counted_up(host: HostClient, namespace: str) -> None:
    recorder = EventRecorder(host, SystemClock(), component="inference-apiserver", identity="one")
    job = {
        "apiVersion": "ai.example.com/v1",
        "kind": "InferenceJob",
        "metadata": {"name": "llama", "namespace": namespace, "uid": str(uuid.uuid4())},
    }
    for _ in range(2):
        recorder.event(job, "Warning", "WaitingForGPUs", "no room")
    await recorder.flush()
    listed = await host.list(f"/api/v1/namespaces/{namespace}/events")
    assert [(event["reason"], event["count"]) for event in listed["items"]] == [("WaitingForGPUs", 2)]


async def make_node(host: HostClient, name: str) -> None:
    node = ready_node(name)
    await host.create("/api/v1/nodes", node)
    await host.patch(f"/api/v1/nodes/{name}/status", {"status": node["status"]})
    await host.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


async def pod_of(host: HostClient, namespace: str, name: str) -> Object | None:
    try:
        return await host.get(f"/api/v1/namespaces/{namespace}/pods/{name}")
    except APIError as error:
        if is_not_found(error):
            return None
        raise


async def test_the_life_of_a_job(host: HostClient, namespace: str) -> None:
    node = f"gpu-{uuid.uuid4().hex[:6]}"
    await make_node(host, node)
    lab = Lab()
    lab.own = MemoryStore(SystemClock())
    lab.objects = MemoryObjects(lab.own)
    controllers = Controllers(objects=lab.objects, host=host, identity="one")
    try:
        async with running(controllers.run()):
            lab.submit(
                "llama", namespace, gpuCount=2, replicas=2, nodeSelector={"kubernetes.io/hostname": node}
            )
            await eventually(lambda: bool(lab.status("llama", namespace).get("placements")))
            pods = f"/api/v1/namespaces/{namespace}/pods"
            for name in ("llama-0", "llama-1"):
                async with asyncio.timeout(20):
                    while not (((await pod_of(host, namespace, name)) or {}).get("spec") or {}).get(
                        "nodeName"
                    ):
                        await asyncio.sleep(0.05)
                ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                await host.patch(f"{pods}/{name}/status", {"status": ready})
            await eventually(lambda: lab.status("llama", namespace).get("phase") == "Ready")
            assert all(not check() for check in controllers.checks().values())
            job = lab.job("llama", namespace)
            await lab.objects.delete("inferencejobs", job)
            await eventually(lambda: lab.status("llama", namespace)["phase"] == "Terminating")
            for name in ("llama-0", "llama-1"):
                await host.delete(f"{pods}/{name}", {"gracePeriodSeconds": 0})
            await eventually(lambda: not lab.exists("llama", namespace))
            assert lab.gpu_node(node)["free"] == 8
    finally:
        await host.delete(f"/api/v1/nodes/{node}")
