"""Jobs that have ended stay as they ended, and what is prepared for a job is not undone at once."""

from __future__ import annotations

import pytest
from fakecluster import Lab

from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.finalize import IDLE_SECONDS
from apiserver.machinery import errors


@pytest.mark.parametrize(("end", "kind"), [("Succeeded", "Complete"), ("Failed", "Failed")])
async def test_a_spec_that_is_changed_after_the_end_is_noted_and_nothing_else_happens(end, kind) -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("batch", restartPolicy="Never", backoffLimit=0)
        await lab.run_kubelets()
        lab.set_pod("batch-0", end)
        await lab.settle()
        before = lab.status("batch")
        assert before["phase"] == end
        pods, events = lab.pods(), lab.events()
        await lab.change("batch", priority=5)
        await lab.settle()
        generation = lab.job("batch")["metadata"]["generation"]
        after = lab.status("batch")
        assert after.pop("observedGeneration") == generation > before.pop("observedGeneration")
        assert {item["type"]: item["observedGeneration"] for item in after["conditions"]} == dict.fromkeys(
            {"Scheduled", "Ready", kind}, generation
        )
        for status in (before, after):
            for item in status["conditions"]:
                del item["observedGeneration"]
        assert after == before
        assert (lab.pods(), lab.events()) == (pods, events)
        version = lab.job("batch")["metadata"]["resourceVersion"]
        await lab.settle(600)
        assert lab.job("batch")["metadata"]["resourceVersion"] == version, "it is written once"


async def test_a_refusal_after_the_end_leaves_the_phase_alone() -> None:
    lab = Lab()
    lab.node("gpu-1")
    async with lab.running():
        lab.submit("server", activeDeadlineSeconds=60, restartPolicy="Always")
        await lab.run_kubelets()

        def refuse(method: str, path: str) -> None:
            if method == "DELETE":
                raise errors.APIError(403, "Forbidden", "pods is forbidden")

        lab.host.before = refuse
        await lab.settle(120)
        assert lab.status("server")["phase"] == "Failed"
        assert lab.condition("server", "Degraded")["reason"] == "Forbidden"
        lab.host.before = lambda *_: None
        await lab.settle(120)
        await lab.run_kubelets()
        assert lab.status("server")["phase"] == "Failed"
        assert lab.gpu_node("gpu-1")["free"] == 8


async def test_a_finalizer_that_another_leader_has_put_on_stays_long_enough_to_book() -> None:
    lab = Lab()
    async with lab.running():
        lab.submit("job")
        await lab.settle()
        job = lab.job("job")
        job["metadata"]["finalizers"] = [names.FINALIZER]
        await lab.objects.update(names.JOBS, job)
        await lab.clock.advance(IDLE_SECONDS * 0.9)
        assert lab.job("job")["metadata"]["finalizers"] == [names.FINALIZER]
        await lab.settle(IDLE_SECONDS)
        assert not lab.job("job")["metadata"].get("finalizers")
