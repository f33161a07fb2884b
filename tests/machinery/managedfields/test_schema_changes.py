"""What becomes of owners when the schema under them changes."""

from __future__ import annotations

from typing import Any

from apiserver.machinery.managedfields import FieldManager
from apiserver.machinery.schema import Schema

NOW = "2026-01-01T00:00:00Z"


def manager(**properties: Any) -> FieldManager:
    string = {"type": "string"}
    root = {"apiVersion": string, "kind": string, "metadata": {"type": "object"}}
    spec = {"type": "object", "properties": properties}
    schema = Schema.from_openapi({"type": "object", "properties": {**root, "spec": spec}})
    return FieldManager("g", "K", {"v1": schema.node}, lambda obj, _source, _target: obj)


def obj(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "spec": spec}


def entries(value: dict[str, Any]) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in value["metadata"]["managedFields"]}


def map_of_strings(**more: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"type": "string"}, **more}


LIST = {"type": "array", "items": {"type": "string"}}


def test_parts_of_what_has_become_atomic_are_owned_as_a_whole() -> None:
    before = manager(m=map_of_strings(), l={**LIST, "x-kubernetes-list-type": "set"})
    after = manager(m=map_of_strings(**{"x-kubernetes-map-type": "atomic"}), l=LIST)
    live = before.apply(None, obj(m={"a": "1"}, l=["x"]), manager="a", force=False, version="v1", now=NOW)
    assert entries(live) == {"a": {"f:spec": {"f:m": {"f:a": {}}, "f:l": {'v:"x"': {}}}}}
    new = {**live, "metadata": dict(live["metadata"]), "spec": {**live["spec"], "m": {"b": "2"}}}
    after.update(live, new, manager="b", version="v1", now=NOW)
    assert entries(new) == {"a": {"f:spec": {"f:l": {}}}, "b": {"f:spec": {"f:m": {}}}}


def test_fields_that_are_no_more_do_no_harm() -> None:
    before = manager(old={"type": "string"}, kept={"type": "string"})
    after = manager(kept={"type": "string"})
    live = before.apply(None, obj(old="x", kept="y"), manager="a", force=False, version="v1", now=NOW)
    live["spec"].pop("old")
    merged = after.apply(live, obj(kept="z"), manager="a", force=False, version="v1", now=NOW)
    assert merged["spec"] == {"kept": "z"}
    assert entries(merged) == {"a": {"f:spec": {"f:kept": {}}}}
