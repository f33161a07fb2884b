"""What goes wrong outside is said aloud, costs the user nothing, and holds GPUs for a bounded time."""

from __future__ import annotations

from fakecluster import Lab

from apiserver.controllers.leaderelection import LeaseOptions
from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource

PODS = GroupResource("", "pods")


def refuse_pods(error: Exception) -> object:
    def before(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/pods"):
            raise error

    return before


async def test_missing_permission_is_a_condition_an_event_and_a_failing_check() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.host.before = refuse_pods(errors.forbidden(PODS, "", "User x cannot create pods"))  # type: ignore[assignment]
    async with lab.running():
        lab.submit("job")
        await lab.settle(10)
        degraded = lab.condition("job", "Degraded")
        assert degraded["reason"] == "Forbidden"
        assert "cannot create pods" in degraded["message"]
        assert lab.status("job")["phase"] == "Degraded"
        assert "Forbidden" in lab.events()
        assert "cannot create pods" in lab.controllers.checks()["permissions"]()
        await lab.settle(700)
        assert lab.gpu_node("gpu-1")["allocations"] == [] or lab.events().count("Forbidden") >= 1
        tried = sum(call == ("POST", "/api/v1/namespaces/ml/pods") for call in lab.host.calls)
        assert tried < 60, "GPUs that were given back are not taken again at once"
        lab.host.before = lambda *_: None
        await lab.settle(700)
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"
        assert lab.condition("job", "Degraded")["status"] == "False"
        assert lab.controllers.checks()["permissions"]() == ""


async def test_a_pod_that_is_invalid_waits_for_a_new_generation_without_gpus() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.host.before = refuse_pods(errors.APIError(422, "Invalid", "Pod is invalid: spec.volumes"))  # type: ignore[assignment]
    async with lab.running():
        lab.submit("job")
        await lab.settle(30)
        assert lab.status("job")["phase"] == "Degraded"
        assert lab.condition("job", "Degraded")["reason"] == "InvalidPod"
        assert lab.gpu_node("gpu-1")["free"] == 8
        tried = sum(call == ("POST", "/api/v1/namespaces/ml/pods") for call in lab.host.calls)
        await lab.settle(900)
        assert sum(call == ("POST", "/api/v1/namespaces/ml/pods") for call in lab.host.calls) == tried
        lab.host.before = lambda *_: None
        await lab.change("job", image="vllm:2")
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"


async def test_the_trigger_annotation_tries_again_what_waits_for_a_new_generation() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.host.before = refuse_pods(errors.APIError(422, "Invalid", "Pod is invalid"))  # type: ignore[assignment]
    async with lab.running():
        lab.submit("job")
        await lab.settle(30)
        lab.host.before = lambda *_: None
        await lab.annotate("job", "reconcile-trigger", "1")
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"


async def test_an_unreachable_host_is_survived() -> None:
    lab = Lab()
    lab.node("gpu-1")
    down = True

    def before(method: str, path: str) -> None:
        if down:
            raise ConnectionError("refused")

    async with lab.running():
        await lab.settle()
        lab.host.before = before
        lab.cluster.end_watches()
        lab.submit("job")
        await lab.settle(60)
        assert lab.controllers.checks()["informers-synced"]() != ""
        down = False
        await lab.settle(60)
        await lab.run_kubelets(30)
        assert lab.controllers.checks()["informers-synced"]() == ""
        assert lab.status("job")["phase"] == "Ready"


async def test_a_name_that_somebody_elses_pod_has_is_told_and_left_alone() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.foreign_pod("job-0", "gpu-1", 1, namespace="ml")
    async with lab.running():
        lab.submit("job")
        await lab.settle(5)
        assert lab.condition("job", "Degraded")["reason"] == "PodNameTaken"
        assert "ownerReferences" not in lab.pod("job-0")["metadata"]
        lab.cluster.remove(("pods", "ml", "job-0"))
        await lab.settle(40)
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"


async def test_a_pod_left_by_an_earlier_job_of_the_name_makes_way() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("job")
        await lab.run_kubelets()
    job = lab.job("job")
    lab.own.remove(("inferencejobs", "ml", "job"))
    lab.controllers = lab.make("two")
    async with lab.running():
        lab.submit("job")
        await lab.run_kubelets(10)
        await lab.run_kubelets(10)
        assert lab.job("job")["metadata"]["uid"] != job["metadata"]["uid"]
        assert lab.pod("job-0")["metadata"]["ownerReferences"][0]["uid"] == lab.job("job")["metadata"]["uid"]
        assert lab.status("job")["phase"] == "Ready"
        await lab.settle(10)
        assert lab.gpu_node("gpu-1")["free"] == 7, "what the vanished job held was cleared from the ledger"


async def test_containers_that_cannot_start_degrade_the_job_and_recovery_clears_it() -> None:
    lab = Lab()
    lab.node("gpu-1")
    waiting = {
        "name": "inference",
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no image"}},
    }
    async with lab.running():
        lab.submit("job")
        await lab.settle()
        lab.set_pod("job-0", "Pending", containerStatuses=[waiting])
        await lab.settle()
        assert lab.condition("job", "Degraded")["reason"] == "ImagePullBackOff"
        assert lab.status("job")["phase"] == "Degraded"
        lab.set_pod("job-0", "Running")
        await lab.settle()
        assert lab.status("job")["phase"] == "Ready"


async def test_a_status_that_somebody_edits_is_put_right_and_the_ledger_stays_the_truth() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.node("gpu-2")
    async with lab.running():
        lab.submit("job", gpuCount=4)
        await lab.run_kubelets()
        job = lab.job("job")
        job["status"]["placements"] = []
        await lab.objects.update_status("inferencejobs", job)
        await lab.run_kubelets(20)
        await lab.run_kubelets(20)
        assert lab.status("job")["phase"] == "Ready"
        held = sum(lab.gpu_node(name)["capacity"] - lab.gpu_node(name)["free"] for name in ("gpu-1", "gpu-2"))
        assert held == 4


async def test_a_queue_position_is_not_written_more_often_than_every_ten_seconds() -> None:
    lab = Lab()
    lab.node("gpu-1", 1)
    async with lab.running():
        lab.submit("blocker", priority=9)
        await lab.run_kubelets()
        lab.submit("last", gpuCount=1)
        await lab.settle(30)
        before = int(lab.job("last")["metadata"]["resourceVersion"])
        for number in range(5):
            lab.submit(f"first-{number}", priority=1)
            await lab.clock.advance(0.5)
        await lab.clock.advance(1.0)
        writes = [
            revision
            for revision, _, _, obj in lab.own.history
            if obj["metadata"]["name"] == "last" and revision > before
        ]
        assert len(writes) <= 2
        await lab.settle(60)
        assert lab.status("last")["queuePosition"] == 5


async def test_the_reasons_told_become_the_present_ones_even_if_nothing_more_happens() -> None:
    lab = Lab()
    lab.node("gpu-1", 1)
    async with lab.running():
        lab.submit("big", gpuCount=4)
        await lab.settle()
        lab.node("gpu-2", 2)
        lab.node("gpu-3", 2)
        await lab.settle(60)
        assert lab.status("big")["message"] == (
            "0/3 nodes can host a replica: 3 not enough free nvidia.com/gpu (need 4)"
        )
        assert lab.events() == ["WaitingForGPUs"], "one event for one state"


async def test_a_placement_that_the_store_refuses_is_told_and_tried_again_less_and_less_often() -> None:
    lab = Lab()
    lab.node("gpu-1")
    tries: list[float] = []

    def refuse(kind: str, resource: str, name: str) -> None:
        if resource == "gpunodes" and kind == "update":
            tries.append(lab.clock.monotonic())
            raise errors.bad_request("the store has a rule against it")

    async with lab.running():
        await lab.settle()
        lab.objects.before = refuse
        lab.submit("job")
        await lab.settle(120)
        assert "PlacementFailed" in lab.events()
        assert len(tries) < 20
        assert lab.gpu_node("gpu-1")["free"] == 8
        lab.objects.before = lambda *_: None
        await lab.settle(60)
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"


async def test_of_two_processes_with_a_lease_one_works_and_the_other_stands_by_healthy() -> None:
    lab = Lab()
    lab.node("gpu-1")
    options = LeaseOptions("ai-system", "inference-apiserver")
    lab.controllers = lab.make("one", leader_election=options)
    other = lab.make("two", leader_election=options)
    async with lab.running(other):
        lab.submit("job")
        await lab.run_kubelets()
        assert (lab.controllers.leading, other.leading) == (True, False)
        assert lab.status("job")["phase"] == "Ready"
        assert all(not check() for check in other.checks().values())
        assert other.report()["holder"] == "one"
