"""What people do with kubectl beyond the first day, in the oldest and the newest version on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cluster import jobs
from cluster.kubectl import Kubectl
from cluster.rest import Rest
from cluster.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("ai_server")]

RESOURCE = f"inferencejob.{jobs.GROUP}"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.fixture
def kubectl(kubectl_of_cluster: Kubectl, namespace: str) -> Kubectl:
    return kubectl_of_cluster.inside(namespace)


def held(name: str = "llama", **spec: Any) -> str:
    return json.dumps(jobs.manifest(name, suspend=True, **spec))


@pytest.fixture
def llama(kubectl: Kubectl) -> str:
    kubectl("create", "-f", "-", stdin=held())
    return "llama"


def spec_of(kubectl: Kubectl, name: str = "llama") -> dict[str, Any]:
    found: dict[str, Any] = kubectl.json("get", "ij", name)["spec"]
    return found


def managers(kubectl: Kubectl) -> set[tuple[str, str]]:
    entries = kubectl.json("get", "ij", "llama", "--show-managed-fields")["metadata"]["managedFields"]
    return {(entry["manager"], entry["operation"]) for entry in entries}


# --- apply ---------------------------------------------------------------------------------------------


def test_apply_takes_out_what_the_manifest_no_longer_says(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=held(priority=5, model="s3://models/llama", args=["a", "b"]))
    kubectl("patch", "ij", "llama", "--type=merge", "-p", '{"metadata":{"labels":{"team":"a"}}}')
    kubectl("apply", "-f", "-", stdin=held(args=["b"]))
    live = kubectl.json("get", "ij", "llama")
    assert live["spec"]["priority"] == 0, "a default comes back"
    assert "model" not in live["spec"]
    assert live["spec"]["args"] == ["b"]
    assert live["metadata"]["labels"] == {"team": "a"}


def test_a_dry_run_of_apply_on_the_server_writes_nothing(kubectl: Kubectl, llama: str) -> None:
    before = kubectl.json("get", "ij", llama)
    shown = kubectl("apply", "--dry-run=server", "-f", "-", "-o", "json", stdin=held(priority=3))
    assert json.loads(shown)["spec"]["priority"] == 3
    assert kubectl.json("get", "ij", llama)["spec"] == before["spec"]


def test_apply_prunes_what_is_no_longer_in_the_set(kubectl: Kubectl) -> None:
    labelled = [jobs.manifest(name, suspend=True) for name in ("a", "b")]
    for job in labelled:
        job["metadata"]["labels"] = {"set": "x"}
    prune = ("--prune", "-l", "set=x", f"--prune-allowlist={jobs.GROUP}/v1/InferenceJob")
    both = json.dumps({"apiVersion": "v1", "kind": "List", "items": labelled})
    kubectl("apply", *prune, "-f", "-", stdin=both)
    out = kubectl("apply", *prune, "-f", "-", stdin=json.dumps(labelled[0]))
    assert f"{RESOURCE}/b pruned" in out
    eventually("it is gone", lambda: kubectl("get", "ij", "-o", "name").split() == [f"{RESOURCE}/a"])


def test_an_applied_object_moves_to_server_side_apply_with_all_it_has(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=held(priority=5, model="s3://models/llama"))
    assert ("kubectl-client-side-apply", "Update") in managers(kubectl)
    # A field that the manifest drops goes too, for kubectl hands over what it owned before.
    kubectl("apply", "--server-side", "-f", "-", stdin=held(priority=6))
    live = kubectl.json("get", "ij", "llama")
    assert live["spec"]["priority"] == 6
    assert "model" not in live["spec"]
    assert ("kubectl", "Apply") in managers(kubectl)
    assert ("kubectl-client-side-apply", "Update") not in managers(kubectl)


def test_going_back_to_client_side_apply_works(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=held(priority=5))
    kubectl("apply", "--server-side", "-f", "-", stdin=held(priority=6))
    kubectl("apply", "-f", "-", stdin=held(priority=7))
    live = kubectl.json("get", "ij", "llama")
    assert live["spec"]["priority"] == 7
    assert json.loads(live["metadata"]["annotations"][LAST_APPLIED])["spec"]["priority"] == 7


def test_a_conflict_names_the_other_manager_and_force_takes_the_field(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "--field-manager=robot", "-f", "-", stdin=held(priority=1))
    apply = ("apply", "--server-side", "-f", "-")
    refused = kubectl.run(*apply, stdin=held(priority=2))
    assert refused.code == 1
    assert 'conflict with "robot": .spec.priority' in refused.err
    kubectl(*apply, "--force-conflicts", stdin=held(priority=2))
    assert spec_of(kubectl)["priority"] == 2
    # The one that lost it may go on without it, and conflicts when it insists.
    kubectl("apply", "--server-side", "--field-manager=robot", "-f", "-", stdin=held())
    assert spec_of(kubectl)["priority"] == 2


def test_diff_shows_what_either_apply_would_do(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=held(priority=1))
    server = ("diff", "--server-side", "-f", "-")
    assert kubectl.run(*server, stdin=held(priority=1)).code == 0
    changed = kubectl.run(*server, stdin=held(priority=2))
    assert (changed.code, "+  priority: 2" in changed.out) == (1, True)
    conflicting = kubectl.run(*server, "--field-manager=other", stdin=held(priority=3))
    assert conflicting.code > 1
    assert ".spec.priority" in conflicting.err
    forced = kubectl.run(*server, "--field-manager=other", "--force-conflicts", stdin=held(priority=3))
    assert (forced.code, "+  priority: 3" in forced.out) == (1, True)
    new = kubectl.run("diff", "-f", "-", stdin=held("another"))
    assert (new.code, "+  name: another" in new.out) == (1, True)
    assert spec_of(kubectl)["priority"] == 1


def test_last_applied_is_viewed_and_set(kubectl: Kubectl, llama: str, tmp_path: Path) -> None:
    manifest = tmp_path / "job.json"
    manifest.write_text(held(priority=4))
    kubectl("apply", "set-last-applied", "-f", str(manifest), "--create-annotation=true")
    assert "priority: 4" in kubectl("apply", "view-last-applied", "ij", llama)


# --- change --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "patch", "priority"),
    [
        ("merge", '{"spec":{"priority":2}}', 2),
        ("json", '[{"op":"test","path":"/spec/priority","value":0},'
         '{"op":"replace","path":"/spec/priority","value":3}]', 3),
    ],
)  # fmt: skip
def test_patches_change_the_object(
    kubectl: Kubectl, llama: str, kind: str, patch: str, priority: int
) -> None:
    assert kubectl("patch", "ij", llama, f"--type={kind}", "-p", patch).split()[-1] == "patched"
    assert spec_of(kubectl)["priority"] == priority
    again = kubectl("patch", "ij", llama, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    assert again.strip().endswith("patched (no change)")


def test_a_strategic_patch_is_refused_with_what_is_taken(kubectl: Kubectl, llama: str) -> None:
    done = kubectl.run("patch", "ij", llama, "--type=strategic", "-p", '{"spec":{"priority":2}}')
    assert done.code == 1
    assert "application/strategic-merge-patch+json" in done.err


def test_edit_shows_again_what_was_refused(kubectl: Kubectl, llama: str, tmp_path: Path) -> None:
    # The first time the editor breaks the object; the second time it finds the reason and mends it.
    editor = tmp_path / "editor.sh"
    editor.write_text(
        "#!/bin/sh\n"
        'cp "$1" "$0.$(ls $(dirname $0) | wc -l)"\n'
        'if grep -q "gpuCount: 0" "$1"; then sed -i s/gpuCount:.*/gpuCount:\\ 2/ "$1"\n'
        'else sed -i s/gpuCount:.*/gpuCount:\\ 0/ "$1"; fi\n'
    )
    editor.chmod(0o755)
    kubectl("edit", "ij", llama, env={"KUBE_EDITOR": str(editor)})
    assert spec_of(kubectl)["gpuCount"] == 2
    shown = [path.read_text() for path in sorted(tmp_path.glob("editor.sh.*"))]
    assert len(shown) == 2
    assert "spec.gpuCount" in shown[1]


def test_edit_of_the_status_reaches_the_status_alone(kubectl: Kubectl, llama: str) -> None:
    eventually("the controller has spoken", lambda: "phase" in kubectl.json("get", "ij", llama)["status"])
    editor = {"KUBE_EDITOR": "sed -i 's/^status:/status:\\n  queuePosition: 5/'"}
    kubectl("edit", "ij", llama, "--subresource=status", env=editor)
    assert kubectl.json("get", "ij", llama)["metadata"]["generation"] == 1


def test_replace_needs_the_object_to_be_there_and_replaces_it_whole(kubectl: Kubectl) -> None:
    missing = kubectl.run("replace", "-f", "-", stdin=held())
    assert "NotFound" in missing.err
    kubectl("create", "-f", "-", stdin=held(priority=5, model="s3://models/llama"))
    kubectl("replace", "-f", "-", stdin=held(priority=6))
    spec = spec_of(kubectl)
    assert spec["priority"] == 6
    assert "model" not in spec
    stale = kubectl.json("get", "ij", "llama")
    kubectl("label", "ij", "llama", "step=1")
    refused = kubectl.run("replace", "-f", "-", stdin=json.dumps(stale))
    assert "Conflict" in refused.err
    before = stale["metadata"]["uid"]
    kubectl("replace", "--force", "-f", "-", stdin=held())
    assert kubectl.json("get", "ij", "llama")["metadata"]["uid"] != before


def test_labels_and_annotations_are_set_on_all(kubectl: Kubectl) -> None:
    for name in "abc":
        kubectl("create", "-f", "-", stdin=held(name))
    kubectl("label", "ij", "--all", "team=a")
    kubectl("annotate", "ij", "--all", "note=x")
    assert len(kubectl("get", "ij", "-l", "team=a", "-o", "name").split()) == 3
    refused = kubectl.run("label", "ij", "a", "team=b")
    assert "--overwrite is false" in refused.err
    kubectl("label", "ij", "a", "team=b", "--overwrite")
    assert kubectl("get", "ij", "-L", "team", "--no-headers").split("\n")[0].split()[-1] == "b"
    assert kubectl("label", "ij", "a", "--list").split() == ["team=b"]


def test_scale_checks_what_is_there_now(kubectl: Kubectl, llama: str) -> None:
    kubectl("scale", "ij", llama, "--replicas=3", "--current-replicas=1")
    refused = kubectl.run("scale", "ij", llama, "--replicas=4", "--current-replicas=1")
    assert "Expected replicas to be 1, was 3" in refused.err
    assert kubectl.json("get", "ij", llama, "--subresource=scale")["spec"]["replicas"] == 3
    beyond = kubectl.run("scale", "ij", llama, "--replicas=100000")
    assert beyond.code == 1
    assert "spec.replicas" in beyond.err


def test_a_rollout_is_none_of_ours_and_changes_nothing(kubectl: Kubectl, llama: str) -> None:
    done = kubectl.run("rollout", "restart", "ij", llama)
    assert done.code == 1
    assert kubectl.json("get", "ij", llama)["metadata"]["generation"] == 1


# --- read ----------------------------------------------------------------------------------------------


def test_get_reads_in_chunks(kubectl: Kubectl) -> None:
    for name in "abcde":
        kubectl("create", "-f", "-", stdin=held(name))
    chunked = kubectl.run("get", "ij", "--chunk-size=2", "--no-headers", "-v=6")
    assert [line.split()[0] for line in chunked.out.splitlines()] == list("abcde")
    assert chunked.err.count("limit=2") == 3
    items = kubectl.json("get", "ij", "--chunk-size=2")["items"]
    assert [item["metadata"]["name"] for item in items] == list("abcde")


def test_get_sorts_and_selects(kubectl: Kubectl) -> None:
    for name, priority in (("a", 3), ("b", 1), ("c", 2)):
        kubectl("create", "-f", "-", stdin=held(name, priority=priority))
    by_priority = kubectl("get", "ij", "--sort-by=.spec.priority", "--no-headers")
    assert [line.split()[0] for line in by_priority.splitlines()] == ["b", "c", "a"]
    assert kubectl("get", "ij", "--field-selector=spec.priority=2", "-o", "name").split() == [f"{RESOURCE}/c"]
    wrong = kubectl.run("get", "ij", "--field-selector=spec.image=x")
    assert "field label not supported" in wrong.err
    columns = kubectl("get", "ij", "a", "-o", "custom-columns=P:.spec.priority", "--no-headers")
    assert columns.strip() == "3"


def test_get_shows_the_old_version_when_asked(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=held(gpuCount=4))
    old = f"inferencejobs.v1alpha1.{jobs.GROUP}"
    assert kubectl.json("get", old, "llama")["spec"]["gpus"] == 4
    assert kubectl("get", old, "llama", "-o", "name").strip() == f"{RESOURCE}/llama"
    head, row = kubectl("get", old).splitlines()
    assert (head.split()[:2], row.split()[0]) == (["NAME", "PHASE"], "llama")
    kubectl("patch", old, "llama", "--type=merge", "-p", '{"spec":{"gpus":2}}')
    assert spec_of(kubectl)["gpuCount"] == 2


def test_a_watch_in_json_gives_whole_objects(kubectl: Kubectl, llama: str, tmp_path: Path) -> None:
    log = tmp_path / "watch.json"
    with kubectl.background(log, "get", "ij", "-w", "-o", "json", "--output-watch-events"):
        eventually("the watch gives what is there", lambda: _events(log, "llama"))
        kubectl("create", "-f", "-", stdin=held("second", priority=9))
        eventually("what is new is seen", lambda: _events(log, "second"))
        kubectl("delete", "ij", "second")
        eventually("the end is seen", lambda: "DELETED" in [kind for kind, _ in _events(log, "second")])
    kind, new = _events(log, "second")[0]
    assert (kind, new["spec"]["priority"], new["apiVersion"]) == ("ADDED", 9, f"{jobs.GROUP}/v1")


def _events(log: Path, name: str) -> list[tuple[str, dict[str, Any]]]:
    """The whole events of an object so far. The last one may still be on its way."""
    _, _, text = (log.read_text() if log.exists() else "").partition("\n")
    found: list[tuple[str, dict[str, Any]]] = []
    while text := text.lstrip():
        try:
            event, end = json.JSONDecoder().raw_decode(text)
        except json.JSONDecodeError:
            break
        text = text[end:]
        if event["object"]["metadata"]["name"] == name:
            found.append((event["type"], event["object"]))
    return found


def test_a_watch_prints_rows_of_changes(kubectl: Kubectl, llama: str, tmp_path: Path) -> None:
    log = tmp_path / "watch.txt"
    with kubectl.background(log, "get", "ij", "-w"):
        eventually("the head is printed", lambda: "PHASE" in log.read_text() if log.exists() else False)
        kubectl("create", "-f", "-", stdin=held("second"))
        eventually("the row comes", lambda: "second" in log.read_text())
    assert log.read_text().count("PHASE") == 1


def test_explain_shows_every_field_of_both_versions(kubectl: Kubectl) -> None:
    for version, own in (("v1", "gpuCount"), ("v1alpha1", "gpuType")):
        out = kubectl("explain", "ij", "--recursive", f"--api-version={jobs.GROUP}/{version}")
        lines = [line.split()[0] for line in out.splitlines() if line.strip()]
        assert {"spec", "status", own, "tolerations", "conditions", "metadata"} <= set(lines)
    assert "ENUM" in kubectl("explain", "ij.spec.restartPolicy").upper()
    assert "-required-" in kubectl("explain", "ij.spec")


def test_wait_sees_a_field_and_a_condition(kubectl: Kubectl, llama: str) -> None:
    kubectl("wait", "ij", llama, "--for=jsonpath={.status.phase}=Pending", "--timeout=20s")
    status = {"status": {"conditions": [{
        "type": "Example", "status": "True", "reason": "Test", "message": "set by hand",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}}  # fmt: skip
    kubectl("patch", "ij", llama, "--subresource=status", "--type=merge", "-p", json.dumps(status))
    kubectl("wait", "ij", llama, "--for=condition=Example", "--timeout=20s")
    timed_out = kubectl.run("wait", "ij", llama, "--for=condition=Never", "--timeout=1s")
    assert "timed out waiting" in timed_out.err


@pytest.mark.parametrize("verb", ["create", "get", "deletecollection", "patch"])
def test_permissions_are_asked_by_our_names(kubectl: Kubectl, verb: str) -> None:
    assert kubectl("auth", "can-i", verb, "ij").strip() == "yes"
    done = kubectl.run("auth", "can-i", verb, f"inferencejobs.{jobs.GROUP}", "--as=nobody")
    assert (done.code, done.out.strip()) == (1, "no")


def test_a_user_without_a_role_is_refused_by_name(kubectl: Kubectl, llama: str, namespace: str) -> None:
    done = kubectl.run("get", "ij", llama, "--as=nobody")
    assert (
        f'inferencejobs.{jobs.GROUP} "llama" is forbidden: User "nobody" cannot get resource "inferencejobs" '
        f'in API group "{jobs.GROUP}" in the namespace "{namespace}"'
    ) in done.err


# --- delete --------------------------------------------------------------------------------------------


@pytest.fixture
def dependent(rest: Rest, namespace: str, kubectl: Kubectl, llama: str) -> str:
    """A ConfigMap that the job owns; deletion in the foreground waits for it."""
    job = jobs.get(rest, namespace, llama)
    owner = {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": llama,
        "uid": job["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    rest.create(path, {"metadata": {"name": "owned", "ownerReferences": [owner]}})
    return f"{path}/owned"


def test_a_deletion_in_the_foreground_takes_the_dependents_first(
    kubectl: Kubectl, rest: Rest, namespace: str, dependent: str, llama: str
) -> None:
    kubectl("delete", "ij", llama, "--cascade=foreground", "--timeout=90s")
    assert not rest.exists(dependent)
    assert not rest.exists(jobs.path(namespace, llama))


def test_orphans_stay(kubectl: Kubectl, rest: Rest, namespace: str, dependent: str, llama: str) -> None:
    kubectl("delete", "ij", llama, "--cascade=orphan", "--timeout=90s")
    assert not rest.exists(jobs.path(namespace, llama))
    assert "ownerReferences" not in rest.get(dependent)["metadata"]


def test_dependents_go_after_their_owner(kubectl: Kubectl, rest: Rest, dependent: str, llama: str) -> None:
    kubectl("delete", "ij", llama, "--timeout=30s")
    eventually("the garbage is collected", lambda: not rest.exists(dependent), 90)


def test_deletions_by_label_and_of_all_take_what_they_say(kubectl: Kubectl) -> None:
    for name in "abc":
        kubectl("create", "-f", "-", stdin=held(name))
    kubectl("label", "ij", "a", "old=yes")
    assert kubectl("delete", "ij", "-l", "old", "--dry-run=server", "-o", "name").split() == [f"{RESOURCE}/a"]
    kubectl("delete", "ij", "-l", "old")
    assert len(kubectl("get", "ij", "-o", "name").split()) == 2
    kubectl("delete", "ij", "--all", "--now")
    assert kubectl("get", "ij", "-o", "name") == ""
