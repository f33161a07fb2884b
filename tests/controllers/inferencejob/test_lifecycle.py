"""The life of a job, on an in-memory cluster with fake time."""

from __future__ import annotations

from fakecluster import Lab


async def test_a_job_is_placed_bound_and_becomes_ready() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("llama", gpuCount=2, replicas=2, model="s3://m/x")
        await lab.run_kubelets()
        status = lab.status("llama")
        assert status["phase"] == "Ready"
        assert status["readyReplicas"] == 2
        assert status["attempts"] == 1
        assert status["observedGeneration"] == 1
        assert lab.nodes_of("llama") == ["gpu-1", "gpu-1"]
        assert lab.gpu_node("gpu-1")["free"] == 4
        pod = lab.pod("llama-0")
        assert pod["spec"]["nodeName"] == "gpu-1"
        assert pod["spec"]["schedulerName"] == "inference-apiserver"
        owner = pod["metadata"]["ownerReferences"][0]
        assert owner["controller"] is True
        assert owner["blockOwnerDeletion"] is True
        container = pod["spec"]["containers"][0]
        assert container["resources"]["limits"] == {"nvidia.com/gpu": "2"}
        assert {"name": "INFERENCE_MODEL", "value": "s3://m/x"} in container["env"]
        assert lab.events() == ["Placed"]


async def test_a_settled_world_is_written_to_no_more() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("llama")
        lab.submit("too-big", gpuCount=9)
        await lab.run_kubelets(60)
        before = lab.own.writes, lab.cluster.writes
        await lab.settle(3600)
        assert (lab.own.writes, lab.cluster.writes) == before


async def test_a_job_without_room_waits_and_says_why_node_by_node() -> None:
    lab = Lab()
    lab.node("gpu-1", 2)
    lab.node("gpu-2", product="A100")
    async with lab.running():
        lab.submit("big", gpuCount=4, gpuProducts=["H100"])
        await lab.settle()
        status = lab.status("big")
        assert status["phase"] == "Pending"
        assert status["queuePosition"] == 0
        assert status["message"] == (
            "0/2 nodes can host a replica: 1 not enough free nvidia.com/gpu (need 4), 1 product mismatch"
        )
        assert lab.condition("big", "Scheduled")["reason"] == "WaitingForGPUs"
        assert lab.pods() == {}
        await lab.delete("big")
        assert not lab.exists("big"), "an unbound job deletes at once"


async def test_a_waiting_job_is_placed_when_a_node_comes() -> None:
    lab = Lab()
    async with lab.running():
        lab.submit("early")
        await lab.settle()
        assert lab.status("early")["message"] == "there are no nodes"
        lab.node("gpu-1")
        await lab.run_kubelets()
        assert lab.status("early")["phase"] == "Ready"
        assert "queuePosition" not in lab.status("early")


async def test_deleting_a_bound_job_ends_its_pods_before_its_gpus_are_free() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("first", gpuCount=8)
        await lab.run_kubelets()
        await lab.delete("first")
        lab.submit("second", gpuCount=8)
        await lab.settle(30)
        assert lab.status("first")["phase"] == "Terminating"
        assert lab.gpu_node("gpu-1")["free"] == 0
        assert lab.status("second")["phase"] == "Pending"
        await lab.run_kubelets()
        assert not lab.exists("first")
        assert lab.nodes_of("second") == ["gpu-1"]
        assert lab.status("second")["phase"] == "Ready"


async def test_suspending_releases_and_resuming_places_again() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("job", gpuCount=4)
        await lab.run_kubelets()
        await lab.change("job", suspend=True)
        await lab.run_kubelets()
        status = lab.status("job")
        assert status["phase"] == "Pending"
        assert lab.condition("job", "Scheduled")["reason"] == "Suspended"
        assert status["observedGeneration"] == 2
        assert lab.gpu_node("gpu-1")["free"] == 8
        assert lab.pods() == {}
        assert "finalizers" not in lab.job("job")["metadata"] or not lab.job("job")["metadata"]["finalizers"]
        await lab.change("job", suspend=False)
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"


async def test_a_batch_job_succeeds_when_all_replicas_have_and_gives_its_gpus_back() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("batch", replicas=2, restartPolicy="Never", ttlSecondsAfterFinished=100)
        await lab.run_kubelets()
        lab.set_pod("batch-0", "Succeeded")
        await lab.settle()
        assert lab.gpu_node("gpu-1")["free"] == 7, "the GPU of a replica that is done is free at once"
        assert lab.status("batch")["phase"] == "Ready"
        lab.set_pod("batch-1", "Succeeded")
        await lab.settle()
        status = lab.status("batch")
        assert status["phase"] == "Succeeded"
        assert status["completionTime"]
        assert lab.condition("batch", "Complete")["status"] == "True"
        assert lab.gpu_node("gpu-1")["free"] == 8
        assert len(lab.pods()) == 2, "ended pods stay for their logs"
        await lab.settle(110)
        assert not lab.exists("batch")


async def test_a_failing_replica_costs_one_attempt_each_time_until_the_limit() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("flaky", restartPolicy="Never", backoffLimit=1)
        await lab.run_kubelets()
        lab.set_pod("flaky-0", "Failed")
        await lab.settle()
        assert lab.status("flaky")["attempts"] == 2
        await lab.run_kubelets(15)
        await lab.run_kubelets()
        assert lab.status("flaky")["phase"] == "Ready"
        assert lab.status("flaky")["attempts"] == 2
        lab.set_pod("flaky-0", "Failed")
        await lab.settle()
        assert lab.status("flaky")["phase"] == "Failed"
        assert lab.condition("flaky", "Failed")["reason"] == "BackoffLimitExceeded"
        assert lab.gpu_node("gpu-1")["free"] == 8


async def test_restarts_in_place_count_against_the_limit_of_a_batch_job() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("crashing", backoffLimit=2)
        await lab.run_kubelets()
        lab.set_pod("crashing-0", "Running", containerStatuses=[{"name": "inference", "restartCount": 3}])
        await lab.run_kubelets()
        assert lab.status("crashing")["phase"] == "Failed"
        assert lab.gpu_node("gpu-1")["free"] == 8


async def test_a_job_that_runs_too_long_fails() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("slow", activeDeadlineSeconds=100)
        await lab.run_kubelets()
        await lab.settle(101)
        assert lab.condition("slow", "Failed")["reason"] == "DeadlineExceeded"
        await lab.run_kubelets()
        assert lab.gpu_node("gpu-1")["free"] == 8


async def test_a_deleted_pod_is_made_again_on_the_same_node() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.node("gpu-2")
    async with lab.running():
        lab.submit("job")
        await lab.run_kubelets()
        first = lab.pod("job-0")["metadata"]["uid"]
        before = lab.nodes_of("job")
        lab.cluster.remove(("pods", "ml", "job-0"))
        await lab.settle()
        assert lab.pod("job-0")["metadata"]["uid"] != first
        assert lab.status("job")["phase"] == "Reconciling"
        assert lab.nodes_of("job") == before
        assert "PodDeleted" in lab.events()
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"


async def test_a_changed_spec_and_a_changed_pod_are_replaced() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("job")
        await lab.run_kubelets()
        await lab.change("job", image="vllm:2")
        await lab.run_kubelets()
        await lab.run_kubelets()
        assert lab.pod("job-0")["spec"]["containers"][0]["image"] == "vllm:2"
        pod = lab.pod("job-0")
        pod["spec"]["containers"][0]["image"] = "miner:1"
        lab.cluster.put(("pods", "ml", "job-0"), pod)
        await lab.run_kubelets()
        await lab.run_kubelets()
        assert lab.pod("job-0")["spec"]["containers"][0]["image"] == "vllm:2"
        assert lab.status("job")["phase"] == "Ready"
        assert lab.status("job")["attempts"] == 1


async def test_a_rejected_pod_costs_nothing_and_goes_to_another_node() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.node("gpu-2")
    async with lab.running():
        lab.submit("job", backoffLimit=0)
        await lab.settle()
        assert lab.nodes_of("job") == ["gpu-1"]
        lab.set_pod("job-0", "Failed", reason="UnexpectedAdmissionError", message="no devices")
        await lab.run_kubelets()
        assert lab.nodes_of("job") == ["gpu-2"]
        assert lab.status("job")["phase"] == "Ready"
        assert lab.status("job")["attempts"] == 1
        assert lab.gpu_node("gpu-1")["free"] == 8
        assert lab.condition("job", "Degraded")["status"] == "False"


async def test_a_node_that_goes_away_costs_nothing_and_the_gang_heals() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.node("gpu-2")
    lab.node("gpu-3")
    async with lab.running():
        lab.submit("gang", gpuCount=8, replicas=2)
        await lab.run_kubelets()
        gone, other = lab.nodes_of("gang")
        lab.drop_node(gone)
        await lab.settle()
        assert lab.status("gang")["phase"] == "Degraded"
        lab.cluster.remove(("pods", "ml", "gang-0"))
        await lab.run_kubelets()
        status = lab.status("gang")
        assert status["phase"] == "Ready"
        assert status["attempts"] == 1
        assert set(lab.nodes_of("gang")) == {other, "gpu-3"}
        assert ("gpunodes", "", gone) not in lab.own.objects


async def test_pods_on_a_node_that_is_gone_are_deleted_by_force() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("job")
        await lab.run_kubelets()
        lab.drop_node("gpu-1")
        await lab.settle(60)
        assert lab.pods() == {}
        assert lab.status("job")["phase"] == "Pending"
        assert lab.status("job").get("placements") == []


async def test_a_node_that_stays_unready_loses_its_replicas() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.node("gpu-2")
    async with lab.running():
        lab.submit("job")
        await lab.run_kubelets()
        lab.set_node("gpu-1", ready=False)
        await lab.settle(30)
        assert lab.nodes_of("job") == ["gpu-1"], "a short absence is forgiven"
        await lab.settle(120)
        await lab.run_kubelets()
        assert lab.nodes_of("job") == ["gpu-2"]
        assert lab.status("job")["phase"] == "Ready"


async def test_a_gang_that_cannot_heal_is_released_whole() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.node("gpu-2")
    async with lab.running():
        lab.submit("gang", gpuCount=8, replicas=2)
        await lab.run_kubelets()
        lab.drop_node("gpu-2")
        await lab.settle(60)
        assert lab.status("gang")["phase"] == "Degraded"
        assert lab.nodes_of("gang") == ["gpu-1"]
        await lab.settle(300)
        await lab.run_kubelets()
        assert lab.nodes_of("gang") == []
        assert lab.status("gang")["phase"] == "Pending"
        assert lab.gpu_node("gpu-1")["free"] == 8
        assert "GangReleased" in lab.events()


async def test_gpus_that_turn_unhealthy_move_the_replica() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.node("gpu-2")
    async with lab.running():
        lab.submit("job", gpuCount=8)
        await lab.run_kubelets()
        lab.set_node("gpu-1", gpus=7)
        await lab.settle(60)
        assert lab.nodes_of("job") == ["gpu-1"], "device plugins restart"
        await lab.settle(120)
        await lab.run_kubelets()
        assert lab.nodes_of("job") == ["gpu-2"]
        assert lab.status("job")["attempts"] == 1


async def test_higher_priority_evicts_only_what_it_needs() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("low-1", gpuCount=4, priority=1)
        await lab.run_kubelets()
        lab.submit("low-2", gpuCount=4, priority=0)
        await lab.run_kubelets()
        lab.submit("high", gpuCount=4, priority=10)
        await lab.run_kubelets()
        await lab.run_kubelets(10)
        assert lab.status("high")["phase"] == "Ready"
        assert lab.status("low-1")["phase"] == "Ready"
        assert lab.status("low-2")["phase"] == "Pending"
        assert "Preempted" in lab.events()


async def test_foreign_pods_are_subtracted_and_the_ledger_shows_them() -> None:
    lab = Lab()
    lab.node("gpu-1")
    lab.foreign_pod("other", "gpu-1", 6)
    async with lab.running():
        lab.submit("job", gpuCount=4)
        await lab.settle()
        assert lab.gpu_node("gpu-1")["foreign"] == 6
        assert lab.gpu_node("gpu-1")["free"] == 2
        assert lab.status("job")["phase"] == "Pending"
        lab.cluster.remove(("pods", "other", "other"))
        await lab.run_kubelets()
        assert lab.status("job")["phase"] == "Ready"
        assert lab.gpu_node("gpu-1")["foreign"] == 0


async def test_a_small_job_passes_a_big_one_that_does_not_fit() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("big", gpuCount=9)
        await lab.settle()
        lab.submit("small")
        await lab.run_kubelets()
        assert lab.status("small")["phase"] == "Ready"
        assert lab.status("big")["phase"] == "Pending"


async def test_scratch_volumes_come_with_the_pods_and_go_with_the_job() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("job", scratch={"size": "100Gi", "storageClassName": "fast"})
        await lab.run_kubelets()
        claim = lab.cluster.get(("persistentvolumeclaims", "ml", "job-scratch"))
        assert claim["spec"]["storageClassName"] == "fast"
        assert lab.pod("job-0")["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "job-scratch"}
        await lab.delete("job")
        await lab.run_kubelets()
        assert not lab.exists("job")
        assert lab.cluster.list("persistentvolumeclaims") == []


async def test_a_controller_that_starts_anew_goes_on_where_it_stood() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("job", gpuCount=2)
        await lab.run_kubelets()
    writes = lab.own.writes
    lab.controllers = lab.make("two")
    async with lab.running():
        await lab.run_kubelets(30)
        assert lab.own.writes == writes
        assert lab.status("job")["phase"] == "Ready"
        lab.submit("more", gpuCount=6)
        await lab.run_kubelets()
        assert lab.gpu_node("gpu-1")["free"] == 0


async def test_replicas_that_have_succeeded_stay_done_when_the_others_are_preempted() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("batch", replicas=2, gpuCount=4, restartPolicy="Never")
        await lab.run_kubelets()
        lab.set_pod("batch-0", "Succeeded")
        await lab.settle()
        lab.submit("high", gpuCount=8, priority=5)
        await lab.run_kubelets()
        await lab.run_kubelets(10)
        assert lab.status("high")["phase"] == "Ready"
        assert lab.status("batch")["phase"] == "Pending"
        await lab.delete("high")
        await lab.run_kubelets()
        await lab.run_kubelets()
        assert lab.status("batch")["phase"] == "Ready"
        assert lab.gpu_node("gpu-1")["free"] == 4, "only what is left to do is placed again"
        lab.set_pod("batch-1", "Succeeded")
        await lab.settle()
        assert lab.status("batch")["phase"] == "Succeeded"
