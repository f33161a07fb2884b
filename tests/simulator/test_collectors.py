"""What cleans up in the simulated cluster: the garbage collector, the controllers of namespaces and nodes."""

from __future__ import annotations

import pytest

from apiserver.machinery.errors import APIError
from apiserver.simulator.garbage_collector import GarbageCollector
from apiserver.simulator.namespace_controller import RETRY_SECONDS, NamespaceController
from apiserver.simulator.node_controller import NodeController

OWNERS = {"InferenceJob": "inferencejobs", "Pod": "pods"}
CONTENTS = ("inferencejobs", "pods", "events")


@pytest.fixture
def collector(cluster, time):
    return GarbageCollector(cluster.objects, OWNERS, sleep=time.sleep)


async def test_dependents_go_after_their_owner(cluster, collector, running):
    job = await cluster.job()
    await cluster.pod(owners=(job,))
    await cluster.pod("free")
    async with running(collector.run):
        await cluster.objects.delete("inferencejobs", job)
        await cluster.gone("pods", "p")
    assert await cluster.names("pods") == ["free"]


async def test_what_lost_its_owner_while_nobody_watched_goes_too(cluster, collector, running):
    job = await cluster.job()
    await cluster.pod(owners=(job,))
    await cluster.objects.delete("inferencejobs", job)
    async with running(collector.run):
        await cluster.gone("pods", "p")


async def test_an_owner_of_the_same_name_is_not_the_owner(cluster, collector, running):
    job = await cluster.job()
    await cluster.objects.delete("inferencejobs", job)
    await cluster.job()
    async with running(collector.run):
        await cluster.pod(owners=(job,))
        await cluster.gone("pods", "p")
    assert await cluster.names("inferencejobs") == ["llama"]


async def test_a_dependent_with_another_owner_stays_and_forgets_the_one(cluster, collector, running, until):
    one, other = await cluster.job("one"), await cluster.job("other")
    await cluster.pod(owners=(one, other))
    async with running(collector.run):
        await cluster.objects.delete("inferencejobs", one)

        async def forgotten():
            pod = await cluster.get("pods", "p")
            return [owner["name"] for owner in pod["metadata"]["ownerReferences"]] == ["other"]

        await until(forgotten)


@pytest.mark.parametrize(("policy", "left"), [("Foreground", []), ("Orphan", ["p"])])
async def test_owners_wait_for_their_dependents_or_orphan_them(cluster, collector, running, policy, left):
    job = await cluster.job()
    await cluster.pod(owners=(job,))
    async with running(collector.run):
        await cluster.delete_job(job["metadata"]["name"], policy)
        await cluster.gone("inferencejobs", "llama")
    assert await cluster.names("pods") == left
    for pod in left:
        assert not (await cluster.get("pods", pod))["metadata"].get("ownerReferences")


async def test_a_namespace_goes_when_it_is_empty(cluster, time, running):
    controller = NamespaceController(cluster.objects, CONTENTS, time.sleep)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    made = await cluster.objects.create("namespaces", namespace)
    assert made["status"]["phase"] == "Active"
    job = await cluster.job("held", "example.com/hold")
    await cluster.pod()
    async with running(controller.run):
        await cluster.objects.delete("namespaces", made)
        await cluster.gone("pods", "p")
        await time.asleep()
        namespace = await cluster.get("namespaces", "ml", "")
        assert namespace["status"]["phase"] == "Terminating"
        held = await cluster.get("inferencejobs", "held")
        held["metadata"]["finalizers"] = []
        await cluster.objects.update("inferencejobs", held)
        await cluster.gone("inferencejobs", job["metadata"]["name"])
        time.pass_(RETRY_SECONDS)
        await cluster.gone("namespaces", "ml", "")


async def test_pods_go_with_their_node(cluster, time, running):
    node = await cluster.node("gpu-0")
    await cluster.node("gpu-1")
    await cluster.pod("a", nodeName="gpu-0")
    await cluster.pod("b", nodeName="gpu-1")
    await cluster.pod("c")
    async with running(NodeController(cluster.objects, time.sleep).run):
        await cluster.objects.delete("nodes", node)
        await cluster.gone("pods", "a")
        await cluster.pod("late", nodeName="gpu-0")
        await cluster.gone("pods", "late")
    assert await cluster.names("pods") == ["b", "c"]


async def test_trouble_of_the_server_is_waited_out(cluster, time, running):
    """Whatever fails with a 5xx is begun again from the present state."""
    real, failures = cluster.objects.list, [APIError(503, "ServiceUnavailable", "storage is away")]

    class Troubled:
        def __getattr__(self, name):
            return getattr(cluster.objects, name)

        async def list(self, resource, *, namespace=""):
            if failures:
                raise failures.pop()
            return await real(resource, namespace=namespace)

    await cluster.node("gpu-0")
    await cluster.pod("a", nodeName="gpu-0")
    async with running(NodeController(Troubled(), time.sleep).run):
        await cluster.objects.delete("nodes", await cluster.get("nodes", "gpu-0", ""))
        await time.asleep()
        time.pass_(1.0)
        await cluster.gone("pods", "a")
