"""The simulated kubelet."""

from __future__ import annotations

import pytest

from apiserver.machinery.errors import APIError
from apiserver.simulator import kubelet as module
from apiserver.simulator.kubelet import Kubelet


@pytest.fixture
def kubelet(cluster, time):
    return Kubelet(cluster.objects, lambda: "2026-01-01T00:00:00Z", time.sleep)


async def test_a_bound_pod_becomes_running_and_then_succeeds(cluster, time, kubelet, running):
    async with running(kubelet.run):
        await cluster.pod(nodeName="gpu-0")
        await time.asleep()
        assert await cluster.phase() == "Pending"
        time.pass_(module.START_SECONDS)
        await cluster.becomes("Running")
        pod = await cluster.get("pods", "p")
        assert {item["type"]: item["status"] for item in pod["status"]["conditions"]}["Ready"] == "True"
        await time.asleep()
        time.pass_(module.RUN_SECONDS)
        await cluster.becomes("Succeeded")
        pod = await cluster.get("pods", "p")
        assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


async def test_a_pod_without_a_node_waits_until_it_is_bound(cluster, time, kubelet, running):
    async with running(kubelet.run):
        pod = await cluster.pod()
        other = await cluster.pod("other", nodeName="gpu-0")
        await time.asleep()
        assert len(time.sleepers) == 1
        pod["spec"]["nodeName"] = "gpu-1"
        await cluster.objects.update("pods", pod)
        await time.asleep(2)
        time.pass_(module.START_SECONDS)
        await cluster.becomes("Running")
        await cluster.becomes("Running", other["metadata"]["name"])


@pytest.mark.parametrize("seconds", ["forever", "-1", "nan", "inf", "1e300", ""])
async def test_a_run_time_that_is_no_time_is_the_usual_one(cluster, time, kubelet, running, seconds):
    async with running(kubelet.run):
        await cluster.pod(nodeName="gpu-0", annotations={module.RUN_SECONDS_ANNOTATION: seconds})
        await time.asleep()
        time.pass_(module.START_SECONDS)
        await cluster.becomes("Running")
        await time.asleep()
        time.pass_(module.RUN_SECONDS)
        await cluster.becomes("Succeeded")


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed"), ("x", "Failed")])
async def test_the_exit_code_decides_how_a_pod_ends(cluster, time, kubelet, running, code, phase):
    async with running(kubelet.run):
        annotations = {module.RUN_SECONDS_ANNOTATION: "0.5", module.EXIT_CODE_ANNOTATION: code}
        await cluster.pod(nodeName="gpu-0", annotations=annotations)
        await time.asleep()
        time.pass_(module.START_SECONDS)
        await cluster.becomes("Running")
        await time.asleep()
        time.pass_(0.5)
        await cluster.becomes(phase)


async def test_a_server_runs_for_ever(cluster, time, kubelet, running):
    async with running(kubelet.run):
        await cluster.pod(nodeName="gpu-0", restartPolicy="Always")
        await time.asleep()
        time.pass_(module.START_SECONDS)
        await cluster.becomes("Running")
        assert not time.sleepers


async def test_a_deleted_pod_is_dropped_and_its_namesake_is_another_pod(cluster, time, kubelet, running):
    async with running(kubelet.run):
        pod = await cluster.pod(nodeName="gpu-0")
        await time.asleep()
        await cluster.objects.delete("pods", pod)
        await cluster.pod(nodeName="gpu-0")
        await time.asleep()
        time.pass_(module.START_SECONDS)
        await cluster.becomes("Running")


async def test_a_running_pod_is_found_again_after_a_restart(cluster, time, kubelet, running):
    async with running(kubelet.run):
        await cluster.pod(nodeName="gpu-0")
        await time.asleep()
        time.pass_(module.START_SECONDS)
        await cluster.becomes("Running")
    time.sleepers.clear()
    async with running(kubelet.run):
        await time.asleep()
        time.pass_(module.START_SECONDS)
        await time.asleep()
        time.pass_(module.RUN_SECONDS)
        await cluster.becomes("Succeeded")


@pytest.mark.parametrize("containers", [[], None, "c", {"name": "c"}, [{}], ["c"], [{"name": 1}]])
async def test_pods_that_the_kubelet_could_not_run_are_refused(cluster, containers):
    with pytest.raises(APIError) as caught:
        await cluster.pod(containers=containers)
    assert caught.value.code == 422
    assert "spec.containers" in caught.value.message
