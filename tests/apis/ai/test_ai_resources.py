"""The declarations: names, schemas with a description for every field, and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver.apis.ai.resources import GPU_NODES, INFERENCE_JOBS, RESOURCES

SCHEMAS = [
    (f"{version.name}.{resource.kind}", version.schema.openapi)
    for resource in RESOURCES
    for version in resource.versions
]

JOB: dict[str, Any] = {
    "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"image": "vllm:1", "replicas": 4, "gpuCount": 2, "gpuProducts": ["H100", "A100"]},
    "status": {
        "phase": "Ready",
        "readyReplicas": 3,
        "attempts": 2,
        "message": "m",
        "placements": [{"replica": i, "node": node} for i, node in enumerate(["n1", "n1", "n2", "n3"])],
    },
}


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, below in schema.get("properties", {}).items():
        yield f"{path}.{name}", below
        yield from fields(below, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from fields(schema[key], path)


@pytest.mark.parametrize(("name", "schema"), SCHEMAS)
def test_every_field_has_a_description(name: str, schema: dict[str, Any]) -> None:
    assert schema["description"]
    own = [(path, below) for path, below in fields(schema) if path != ".metadata"]
    silent = [path for path, below in own if not below.get("description", "").endswith(".")]
    assert not silent, name


def test_the_names_are_those_of_the_contract() -> None:
    assert (INFERENCE_JOBS.plural, INFERENCE_JOBS.singular_name) == ("inferencejobs", "inferencejob")
    assert (INFERENCE_JOBS.short_names, INFERENCE_JOBS.categories) == (("ij",), ("all",))
    assert (GPU_NODES.plural, GPU_NODES.short_names, GPU_NODES.namespaced) == ("gpunodes", ("gn",), False)
    assert GPU_NODES.verbs == ("get", "list", "watch")


def row(resource: Any, version: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {column.name: column.cell(obj) for column in resource.by_version[version].columns}


def test_a_row_of_a_running_job_tells_where_it_stands() -> None:
    assert row(INFERENCE_JOBS, "v1", JOB) == {
        "Phase": "Ready",
        "GPUs": 8,
        "Ready": "3/4",
        "Nodes": "n1,n2 +1",
        "Age": "2026-01-01T00:00:00Z",
        "Image": "vllm:1",
        "Products": "H100,A100",
        "Attempts": 2,
        "Message": "m",
    }


def test_the_row_is_the_same_in_both_versions() -> None:
    old = INFERENCE_JOBS.convert(JOB, "v1", "v1alpha1")
    assert row(INFERENCE_JOBS, "v1alpha1", old) == row(INFERENCE_JOBS, "v1", JOB)


def test_a_row_of_an_object_without_a_status_can_be_printed() -> None:
    new = {"metadata": {"name": "a"}, "spec": {"image": "i"}}
    assert row(INFERENCE_JOBS, "v1", new)["Phase"] == "Pending"
    assert row(INFERENCE_JOBS, "v1", new)["Nodes"] is None
    assert row(GPU_NODES, "v1", {"metadata": {"name": "n"}})["Free"] == 0


def test_the_map_of_the_fleet_shows_what_is_held_and_what_is_free() -> None:
    status = {"capacity": 8, "free": 3, "foreign": 1, "allocations": [{"count": 2}, {"count": 2}]}
    node = {"metadata": {"name": "n"}, "status": status}
    found = row(GPU_NODES, "v1", node)
    assert (found["Capacity"], found["Held"], found["Foreign"], found["Free"]) == (8, 4, 1, 3)
