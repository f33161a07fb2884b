"""kube-apiserver merges our OpenAPI into its own: nothing that was there before may suffer from it.

One wrong name in what we publish breaks `kubectl apply` for every kind of a cluster. So a control plane of
its own is looked at before our group is registered, with it, and after it is gone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cluster import kubectl
from cluster.controlplane import ControlPlane
from cluster.fixtures import control_plane, installed_server
from cluster.kubectl import Kubectl
from cluster.rest import Rest
from cluster.server import AIServer
from cluster.waiting import eventually

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
OURS = "ai.example.com"
MODEL = "com.example.ai."
GVK = "x-kubernetes-group-version-kind"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
EXPLAINED = ("deployments.spec.template", "pods.status", "configmaps", "apiservices.spec")
MERGE_SECONDS = 120


@dataclass(frozen=True)
class Documents:
    """All that a cluster says of its API: the one document of v2, and those of v3 by path."""

    v2: Json
    v3: dict[str, Json]
    explained: dict[str, str]


@dataclass(frozen=True)
class Merged:
    """A cluster with our group, and what it said before."""

    plane: ControlPlane
    server: AIServer
    kubectls: tuple[Kubectl, ...]
    before: Documents
    after: Documents


def _read(rest: Rest, kubectls: tuple[Kubectl, ...]) -> Documents:
    root = rest.get("/openapi/v3")["paths"]
    return Documents(
        v2=rest.get("/openapi/v2"),
        v3={path: rest.get(entry["serverRelativeURL"]) for path, entry in root.items()},
        explained={
            f"{program.program} {kind}": program("explain", kind, "--recursive")
            for program in kubectls
            for kind in EXPLAINED
        },
    )


def _knows_us(rest: Rest) -> bool:
    in_v2 = any(name.startswith(MODEL) for name in rest.get("/openapi/v2")["definitions"])
    return in_v2 and f"apis/{OURS}/v1" in rest.get("/openapi/v3")["paths"]


@pytest.fixture(scope="module")
def merged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Merged]:
    plane = control_plane(tmp_path_factory.mktemp("merging"))
    try:
        plane.start(controllers=False)
        kubectls = tuple(
            Kubectl(program, plane.kubeconfig, tmp_path_factory.mktemp("cache"))
            for program in kubectl.versions().values()
        )
        eventually(
            "it describes itself", lambda: plane.rest.get("/openapi/v3")["paths"].get("apis/apps/v1"), 30
        )
        before = _read(plane.rest, kubectls)
        folder = tmp_path_factory.mktemp("merged")
        with installed_server(request.config, plane, folder, "--leader-elect=false") as server:
            eventually("our group is merged", lambda: _knows_us(plane.rest), MERGE_SECONDS, every=0.5)
            after = _read(plane.rest, kubectls)
            yield Merged(plane, server, kubectls, before, after)
    finally:
        plane.stop()


def _gvks(schemas: dict[str, Json]) -> Counter[str]:
    return Counter(
        f"{gvk['group']}/{gvk['version']} {gvk['kind']}"
        for schema in schemas.values()
        for gvk in schema.get(GVK, ())
    )


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str):
            yield reference
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _resolve(document: Json, reference: str) -> Any:
    node: Any = document
    for step in reference.removeprefix("#/").split("/"):
        node = node[step.replace("~1", "/").replace("~0", "~")]
    return node


def _operations(document: Json) -> list[str]:
    return [
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict) and "operationId" in operation
    ]


def test_every_definition_that_was_there_is_there_unchanged(merged: Merged) -> None:
    before, after = merged.before.v2["definitions"], merged.after.v2["definitions"]
    changed = [name for name in before if after.get(name) != before[name]]
    assert not changed


def test_what_is_new_in_v2_is_ours_alone(merged: Merged) -> None:
    before, after = merged.before.v2, merged.after.v2
    definitions = after["definitions"].keys() - before["definitions"].keys()
    assert definitions
    # Of the shared types we have sentences of our own; the aggregator renames ours, and never its own.
    shared = {name for name in definitions if re.fullmatch(r"io\.k8s\..+_v\d+", name)}
    assert all(name.startswith(MODEL) for name in definitions - shared), definitions - shared
    assert all(GVK not in after["definitions"][name] for name in shared)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in definitions)
    paths = after["paths"].keys() - before["paths"].keys()
    assert f"/apis/{OURS}/v1/namespaces/{{namespace}}/inferencejobs/{{name}}" in paths
    assert all(path.startswith(f"/apis/{OURS}/") for path in paths), paths
    assert {path: after["paths"][path] for path in before["paths"]} == before["paths"]


def test_no_kind_is_described_twice_because_of_us(merged: Merged) -> None:
    before = _gvks(merged.before.v2["definitions"])
    added = _gvks(merged.after.v2["definitions"]) - before
    assert {f"{OURS}/v1 InferenceJob", f"{OURS}/v1alpha1 InferenceJob", f"{OURS}/v1 GPUNode"} <= added.keys()
    assert all(name.startswith(f"{OURS}/") for name in added), added
    assert set(added.values()) == {1}


def test_operations_keep_their_names_and_ours_are_new(merged: Merged) -> None:
    operations = Counter(_operations(merged.after.v2))
    assert [name for name, count in operations.items() if count > 1] == []
    assert set(_operations(merged.before.v2)) <= operations.keys()


def test_every_reference_leads_somewhere(merged: Merged) -> None:
    documents = {"v2": merged.after.v2, **merged.after.v3}
    for name, document in documents.items():
        for reference in set(_references(document)):
            assert _resolve(document, reference), f"{name}: {reference}"


def test_v3_documents_of_others_are_unchanged(merged: Merged) -> None:
    before, after = merged.before.v3, merged.after.v3
    new = after.keys() - before.keys()
    assert {f"apis/{OURS}/v1", f"apis/{OURS}/v1alpha1"} <= new
    assert all(path.startswith(f"apis/{OURS}") for path in new), new
    assert [path for path in before if after.get(path) != before[path]] == []


@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
def test_our_v3_document_stands_on_its_own(merged: Merged, version: str) -> None:
    document = merged.after.v3[f"apis/{OURS}/{version}"]
    assert document["openapi"].startswith("3.0")
    schemas = document["components"]["schemas"]
    assert all("/" not in name for name in schemas)
    assert set(_gvks({n: s for n, s in schemas.items() if n.startswith(MODEL)}).values()) == {1}
    operations = Counter(_operations(document))
    assert set(operations.values()) == {1}


def test_the_merged_document_is_served_as_protobuf_too(merged: Merged) -> None:
    answer = merged.plane.rest.request("GET", "/openapi/v2", headers={"Accept": PROTOBUF})
    assert answer.status == 200
    assert b"com.example.ai" in answer.body


def test_explain_of_other_kinds_says_what_it_said(merged: Merged) -> None:
    assert merged.after.explained == merged.before.explained


def test_other_kinds_are_applied_as_ever(merged: Merged, tmp_path: Path) -> None:
    for index, program in enumerate(merged.kubectls):
        name = f"web-{index}"
        manifest = json.dumps(_deployment(name))
        assert program("apply", "-f", "-", stdin=manifest).split()[-1] == "created"
        assert program("apply", "-f", "-", stdin=manifest).split()[-1] == "unchanged"
        changed = manifest.replace("nginx:1", "nginx:2")
        assert program("apply", "-f", "-", stdin=changed).split()[-1] == "configured"
        # Containers are merged by name, which kubectl knows from the merged document.
        sidecar = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"x"}]}}}}'
        program("patch", "deployment", name, "--type=strategic", "-p", sidecar)
        containers = program.json("get", "deployment", name)["spec"]["template"]["spec"]["containers"]
        assert {container["name"] for container in containers} == {"web", "side"}
        program("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=changed)
        wrong = program.run("apply", "-f", "-", stdin=manifest.replace('"replicas"', '"replicaz"'))
        assert 'unknown field "spec.replicaz"' in wrong.err
        assert program.run("diff", "-f", "-", stdin=changed).code == 0


def _deployment(name: str) -> Json:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
            },
        },
    }


def test_nothing_of_us_is_left_when_the_group_is_taken_out(merged: Merged) -> None:
    rest = merged.plane.rest
    merged.server.uninstall()
    try:
        eventually(
            "our definitions are gone",
            lambda: not any(name.startswith(MODEL) for name in rest.get("/openapi/v2")["definitions"]),
            MERGE_SECONDS,
            every=0.5,
        )
        assert rest.get("/openapi/v2")["definitions"] == merged.before.v2["definitions"]
        assert rest.get("/openapi/v2")["paths"] == merged.before.v2["paths"]
    finally:
        merged.server.install()
