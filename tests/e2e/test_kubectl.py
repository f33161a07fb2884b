"""A day of a user with kubectl, in every version on this machine. The jobs are held: nothing moves them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cluster import jobs
from cluster.kubectl import Kubectl
from cluster.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("ai_server")]


@pytest.fixture
def kubectl(kubectl_of_cluster: Kubectl, namespace: str) -> Kubectl:
    return kubectl_of_cluster.inside(namespace)


def _held(name: str = "llama", **spec: object) -> str:
    return json.dumps(jobs.manifest(name, suspend=True, **spec))


@pytest.fixture
def llama(kubectl: Kubectl) -> str:
    kubectl("apply", "-f", "-", stdin=_held())
    return "llama"


def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=_held()).split()[-1] == "created"
    assert kubectl("apply", "-f", "-", stdin=_held()).split()[-1] == "unchanged"
    assert kubectl("apply", "-f", "-", stdin=_held(priority=5)).split()[-1] == "configured"
    assert kubectl("get", "ij", "llama", "-o", "jsonpath={.spec.priority}") == "5"


def test_server_side_apply_names_the_conflict_and_can_be_forced(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=_held(priority=1))
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refused = kubectl.run(*other, stdin=_held(priority=2))
    assert refused.code == 1
    assert ".spec.priority" in refused.err
    kubectl(*other, "--force-conflicts", stdin=_held(priority=2))


def test_get_prints_our_columns(kubectl: Kubectl, llama: str) -> None:
    head, row = (line.split() for line in kubectl("get", "ij").splitlines())
    assert head == ["NAME", "PHASE", "GPUS", "READY", "NODES", "AGE"]
    assert row[0] == llama
    wide = kubectl("get", "ij", "-o", "wide").splitlines()[0].split()
    assert wide == [*head, "IMAGE", "PRODUCTS", "ATTEMPTS", "MESSAGE"]


def test_get_all_lists_jobs_too(kubectl: Kubectl, llama: str) -> None:
    assert f"inferencejob.ai.example.com/{llama}" in kubectl("get", "all", "-o", "name")


def test_get_with_a_watch_shows_what_happens(kubectl: Kubectl, tmp_path: Path) -> None:
    log = tmp_path / "watch.log"
    with kubectl.background(log, "get", "ij", "--watch", "-o", "name"):
        eventually("the watch is started", lambda: log.exists())
        for name in ("first", "second"):
            kubectl("create", "-f", "-", stdin=_held(name))
        kubectl("delete", "ij", "first")
        eventually("two jobs are seen", lambda: "second" in log.read_text() and "first" in log.read_text())


def test_describe_shows_spec_and_status(kubectl: Kubectl, llama: str) -> None:
    out = kubectl("describe", "ij", llama)
    assert "Gpu Count:" in out
    assert "Phase:" in out


def test_edit_changes_the_object(kubectl: Kubectl, llama: str) -> None:
    kubectl("edit", "ij", llama, env={"KUBE_EDITOR": "sed -i s/vllm:0.9/vllm:1.0/"})
    assert kubectl("get", "ij", llama, "-o", "jsonpath={.spec.image}").endswith("vllm:1.0")


def test_label_and_annotate(kubectl: Kubectl, llama: str) -> None:
    kubectl("label", "ij", llama, "team=a")
    kubectl("annotate", "ij", llama, "reconcile-trigger=1", "--overwrite")
    assert kubectl("get", "ij", "-l", "team=a", "-o", "name").strip().endswith(llama)
    assert kubectl("get", "ij", "-l", "team!=a", "-o", "name") == ""
    kubectl("label", "ij", llama, "team-")
    assert kubectl("get", "ij", "-l", "team", "-o", "name") == ""


def test_a_patch_of_the_status_leaves_spec_and_generation_alone(kubectl: Kubectl, llama: str) -> None:
    before = kubectl.json("get", "ij", llama)
    patch = {"spec": {"priority": 77}, "status": {"message": "hand made"}}
    kubectl("patch", "ij", llama, "--subresource=status", "--type=merge", "-p", json.dumps(patch))
    after = kubectl.json("get", "ij", llama)
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert after["spec"] == before["spec"]


def test_scale_sets_the_replicas(kubectl: Kubectl, llama: str) -> None:
    kubectl("scale", "ij", llama, "--replicas=3")
    assert kubectl("get", "ij", llama, "-o", "jsonpath={.spec.replicas}") == "3"


def test_diff_tells_what_apply_would_change(kubectl: Kubectl, llama: str) -> None:
    assert kubectl.run("diff", "-f", "-", stdin=_held()).code == 0
    changed = kubectl.run("diff", "-f", "-", stdin=_held(priority=9))
    assert changed.code == 1
    assert "+  priority: 9" in changed.out


def test_an_invalid_job_is_refused_with_the_field_named(kubectl: Kubectl) -> None:
    done = kubectl.run("apply", "-f", "-", stdin=_held(gpuCount=0))
    assert done.code == 1
    assert "spec.gpuCount" in done.err


def test_an_unknown_field_is_refused(kubectl: Kubectl) -> None:
    done = kubectl.run("apply", "-f", "-", stdin=_held(gpus=1))
    assert done.code == 1
    assert 'unknown field "spec.gpus"' in done.err


def test_old_clients_see_their_own_version(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=_held(gpuCount=4, gpuProducts=["A"]))
    old = kubectl.json("get", "inferencejobs.v1alpha1.ai.example.com", "llama")
    assert (old["spec"]["gpus"], old["spec"]["gpuType"]) == (4, "A")


def test_delete_waits_until_the_job_is_gone(kubectl: Kubectl, llama: str) -> None:
    kubectl("delete", "ij", llama, "--timeout=30s")
    assert "NotFound" in kubectl.run("get", "ij", llama).err


def test_wait_for_deletion_ends(kubectl: Kubectl, llama: str) -> None:
    kubectl("delete", "ij", llama, "--wait=false")
    kubectl("wait", "ij", llama, "--for=delete", "--timeout=30s")
