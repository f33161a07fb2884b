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
