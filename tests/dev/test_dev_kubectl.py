"""What people do with kubectl against `dev`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml


def job(name, **spec):
    return yaml.safe_dump(
        {
            "apiVersion": "ai.example.com/v1",
            "kind": "InferenceJob",
            "metadata": {"name": name},
            "spec": {"image": "registry.example.com/vllm:0.9", **spec},
        }
    )


def server(dev, name, **spec):
    """A job that runs until it is deleted, and is ready."""
    dev.kubectl("apply", "-f-", stdin=job(name, restartPolicy="Always", **spec))
    dev.kubectl("wait", f"ij/{name}", "--for=condition=Ready", "--timeout=60s")


def nodes_of(dev, name):
    return set(dev.kubectl("get", "ij", name, "-o", "jsonpath={.status.placements[*].node}").split())


def test_a_job_is_applied_shown_described_changed_and_deleted(dev, eventually):
    server(dev, "first", gpuCount=2)
    table = dev.kubectl("get", "inferencejobs,gpunodes,pods")
    assert "inferencejob.ai.example.com/first" in table
    assert "pod/first-0" in table
    assert dev.kubectl("get", "pods", "first-0").splitlines()[1].split()[1:3] == ["1/1", "Running"]
    described = dev.kubectl("describe", "ij", "first")
    assert "AllReplicasReady" in described
    eventually(lambda: "Placed" in dev.kubectl("get", "events"))
    dev.kubectl("apply", "-f-", stdin=job("first", restartPolicy="Always", gpuCount=2, priority=3))
    assert dev.kubectl("get", "ij", "first", "-o", "jsonpath={.spec.priority}") == "3"
    dev.kubectl("delete", "ij", "first", "--timeout=60s")
    eventually(lambda: "first-0" not in dev.kubectl("get", "pods"))


def test_a_watch_shows_what_happens_as_it_happens(dev):
    dev.kubectl("create", "-f-", stdin=job("held", suspend=True))
    fields = "{.type} {.object.status.phase} {.object.metadata.name}"
    command = ["get", "ij", "-w", "--output-watch-events", "-o", f"jsonpath={fields}\n"]
    watching = subprocess.Popen(
        [*kubectl(dev), *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("ADDED"), "the watch is there"
        annotations = {"simulator.ai.example.com/run-seconds": "0.2"}
        template = {"metadata": {"annotations": annotations}}
        dev.kubectl("create", "-f-", stdin=job("watched", podTemplate=template))
        phases = []
        for line in watching.stdout:
            if "held" in line:
                continue
            kind, phase, _ = line.split()
            if kind in ("ADDED", "MODIFIED") and phase and phases[-1:] != [phase]:
                phases.append(phase)
            if phase == "Succeeded":
                break
        assert phases == ["Pending", "Reconciling", "Ready", "Succeeded"]
    finally:
        watching.kill()
        watching.communicate()
    dev.kubectl("delete", "ij", "watched", "held")


def kubectl(dev):
    return [str(Path(sys.executable).parent / "kubectl"), f"--kubeconfig={dev.data / 'kubeconfig'}"]


def test_an_invalid_job_is_refused_at_the_door(dev):
    refused = dev.kubectl("create", "-f-", stdin=job("wrong", gpuCount=0), fails=True)
    assert "spec.gpuCount" in refused


def test_namespaces_are_made_and_go_with_all_that_is_in_them(dev):
    dev.kubectl("create", "namespace", "team")
    dev.kubectl("create", "-n", "team", "-f-", stdin=job("short", restartPolicy="Always"))
    dev.kubectl("wait", "-n", "team", "ij/short", "--for=condition=Ready", "--timeout=60s")
    dev.kubectl("delete", "namespace", "team", "--timeout=60s")
    assert "not found" in dev.kubectl("get", "namespace", "team", fails=True)
    assert dev.kubectl("get", "pods", "-n", "team") == "No resources found in team namespace.\n"


def test_core_objects_are_applied_time_and_again(dev):
    def manifest(label, image):
        return yaml.safe_dump_all(
            [
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": "core", "labels": {"a": label}},
                },
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "p", "namespace": "core"},
                    "spec": {
                        "nodeName": "gpu-7",
                        "containers": [
                            {"name": "a", "image": image, "resources": {"limits": {"nvidia.com/gpu": "3"}}},
                            {"name": "b", "image": "b"},
                        ],
                    },
                },
            ]
        )

    assert dev.kubectl("apply", "-f-", stdin=manifest("one", "1")).count("created") == 2
    assert dev.kubectl("apply", "-f-", stdin=manifest("one", "1")).count("unchanged") == 2
    assert dev.kubectl("apply", "-f-", stdin=manifest("two", "2")).count("configured") == 2
    images = dev.kubectl("get", "pod", "p", "-n", "core", "-o", "jsonpath={.spec.containers[*].image}")
    assert images == "2 b"
    dev.kubectl("wait", "-n", "core", "pod/p", "--for=condition=Ready", "--timeout=60s")
    assert dev.kubectl("get", "gpunode", "gpu-7", "-o", "jsonpath={.status.foreign}") == "3"
    dev.kubectl("delete", "namespace", "core", "--timeout=60s")


def test_pods_that_run_nothing_say_so(dev):
    server(dev, "quiet")
    for command in (["logs", "quiet-0"], ["exec", "quiet-0", "--", "ls"]):
        assert "simulated pods run nothing" in dev.kubectl(*command, fails=True)
    dev.kubectl("delete", "ij", "quiet")


def test_nodes_are_labelled_tainted_and_cordoned(dev):
    dev.kubectl("label", "node", "gpu-6", "team=ml")
    dev.kubectl("taint", "node", "gpu-6", "only=ml:NoSchedule")
    dev.kubectl("cordon", "gpu-6")
    assert "SchedulingDisabled" in dev.kubectl("get", "node", "gpu-6")
    dev.kubectl("uncordon", "gpu-6")
    dev.kubectl("taint", "node", "gpu-6", "only=ml:NoSchedule-")
    dev.kubectl("label", "node", "gpu-6", "team-")
    described = dev.kubectl("describe", "node", "gpu-6")
    assert "Unschedulable:      false" in described
    assert "Taints:             <none>" in described


def test_a_job_moves_when_its_node_is_drained(dev, eventually):
    server(dev, "mover", gpuCount=8)
    (node,) = nodes_of(dev, "mover")
    dev.kubectl("drain", node, "--ignore-daemonsets", "--force", "--timeout=60s")
    eventually(lambda: nodes_of(dev, "mover") and node not in nodes_of(dev, "mover"))
    dev.kubectl("wait", "ij/mover", "--for=condition=Ready", "--timeout=60s")
    assert dev.kubectl("get", "gpunode", node, "-o", "jsonpath={.status.free}") == "8"
    dev.kubectl("uncordon", node)
    dev.kubectl("delete", "ij", "mover", "--timeout=60s")


def test_a_job_moves_when_its_node_is_deleted(dev, eventually):
    server(dev, "survivor", gpuCount=8)
    (node,) = nodes_of(dev, "survivor")
    dev.kubectl("delete", "node", node)
    eventually(lambda: nodes_of(dev, "survivor") and node not in nodes_of(dev, "survivor"))
    dev.kubectl("wait", "ij/survivor", "--for=condition=Ready", "--timeout=60s")
    dev.kubectl("delete", "ij", "survivor", "--timeout=60s")


@pytest.mark.parametrize("kind", ["configmap", "service"])
def test_kinds_that_are_not_simulated_are_unknown(dev, kind):
    assert "doesn't have a resource type" in dev.kubectl("get", kind, fails=True)


def test_nobody_gets_in_without_the_token(dev):
    refused = subprocess.run(
        [*kubectl(dev), "--token=wrong", "get", "ij"], capture_output=True, text=True, timeout=60, check=False
    )
    assert refused.returncode
    assert "logged in" in refused.stderr or "Unauthorized" in refused.stderr
