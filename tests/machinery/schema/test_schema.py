"""What holds of every schema: from declarations to quick and complete validation."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from apiserver.machinery.model import (
    NULLABLE,
    APIModel,
    EmbeddedResource,
    Int32,
    ListMap,
    ListSet,
    MapAtomic,
    Quantity,
    Time,
)
from apiserver.machinery.schema import Schema

RECORDED = json.loads(Path(__file__).with_name("crd_answers.json").read_text())
WIDE = Schema.from_openapi(RECORDED["schema"])


class Variable(APIModel):
    """An environment variable."""

    name: Annotated[str, Field(min_length=1, description="Name.")]
    value: str | None = Field(default=None, description="Value.")


class Strategy(APIModel):
    """How to go about it."""

    type: Literal["Rolling", "Recreate"] = Field(default="Rolling", description="Kind of strategy.")


class Spec(APIModel):
    """What is wanted."""

    image: str = Field(min_length=1, pattern="^[a-z]+$", description="Image.")
    gpu_count: Int32 = Field(default=1, ge=1, le=16, description="GPUs.")
    env: Annotated[list[Variable], ListMap("name")] | None = Field(
        default=None, max_length=2, description="E."
    )
    products: Annotated[list[str], ListSet] | None = Field(default=None, description="Products.")
    resources: dict[str, Quantity] | None = Field(default=None, max_length=2, description="Requests.")
    selector: Annotated[dict[str, str], MapAtomic] | None = Field(default=None, description="Selector.")
    strategy: Strategy = Field(default_factory=Strategy, description="Strategy.")
    template: dict[str, Any] | None = Field(default=None, description="Anything.")
    child: Annotated[dict[str, Any], EmbeddedResource] | None = Field(default=None, description="An object.")
    note: Annotated[str, NULLABLE] | None = Field(default=None, description="Note.")
    start_time: Time | None = Field(default=None, description="When.")
    share: float = Field(default=0.5, gt=0, description="Share.")


class Job(APIModel):
    """A job."""

    spec: Spec = Field(description="What is wanted.")


JOB = Schema.from_model(Job)


def _spec_schema() -> dict[str, Any]:
    spec: dict[str, Any] = JOB.openapi["properties"]["spec"]
    return spec


def test_the_root_of_a_declared_type_has_type_and_metadata_beside_its_own_fields() -> None:
    assert list(JOB.openapi["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert JOB.openapi["required"] == ["spec"]
    assert JOB.openapi["properties"]["metadata"]["type"] == "object"


@pytest.mark.parametrize(
    ("field", "schema"),
    [
        ("image", {"type": "string", "minLength": 1, "pattern": "^[a-z]+$"}),
        ("gpuCount", {"type": "integer", "format": "int32", "minimum": 1, "maximum": 16, "default": 1}),
        (
            "selector",
            {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
        ),
        ("products", {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        ("template", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        ("note", {"type": "string", "nullable": True}),
        ("startTime", {"type": "string", "format": "date-time"}),
        ("share", {"type": "number", "minimum": 0, "exclusiveMinimum": True, "default": 0.5}),
    ],
)
def test_a_declaration_becomes_the_schema_that_one_would_write(field: str, schema: dict[str, Any]) -> None:
    made = dict(_spec_schema()["properties"][field])
    made.pop("description")
    assert made == schema


def test_limits_of_an_optional_list_and_map_count_items_and_entries() -> None:
    properties = _spec_schema()["properties"]
    assert properties["env"]["maxItems"] == 2
    assert properties["env"]["x-kubernetes-list-map-keys"] == ["name"]
    assert properties["resources"]["maxProperties"] == 2
    assert properties["resources"]["additionalProperties"]["x-kubernetes-int-or-string"] is True


def test_a_default_object_gets_the_defaults_below_it() -> None:
    obj: dict[str, Any] = {"spec": {"image": "a"}}
    JOB.default(obj)
    assert obj["spec"] == {"image": "a", "gpuCount": 1, "strategy": {"type": "Rolling"}, "share": 0.5}


def test_defaults_are_copies() -> None:
    first: dict[str, Any] = {"spec": {"image": "a"}}
    second: dict[str, Any] = {"spec": {"image": "a"}}
    JOB.default(first)
    first["spec"]["strategy"]["type"] = "Recreate"
    JOB.default(second)
    assert second["spec"]["strategy"] == {"type": "Rolling"}


def test_unknown_fields_are_removed_and_told_in_order() -> None:
    obj = {
        "zoo": 1,
        "metadata": {"any": 1},
        "spec": {"image": "a", "foo": 1, "env": [{"name": "x", "bar": 2}]},
    }
    assert JOB.prune(obj) == ["spec.env[0].bar", "spec.foo", "zoo"]
    assert obj == {"metadata": {"any": 1}, "spec": {"image": "a", "env": [{"name": "x"}]}}


def test_whatever_a_free_field_holds_is_kept() -> None:
    obj = {"spec": {"image": "a", "template": {"x": {"y": [{"z": 1}]}}}}
    assert JOB.prune(obj) == []
    assert obj["spec"]["template"] == {"x": {"y": [{"z": 1}]}}


def test_a_status_update_is_checked_for_its_status_only() -> None:
    old = {"spec": {"name": "x"}, "status": {"phase": "Up"}}
    bad = {"spec": {"name": "x"}, "status": {"phase": "Sideways", "count": "1"}}
    assert [str(error) for error in WIDE.validate_status(bad, old)] == [
        'status.phase: Unsupported value: "Sideways": supported values: "Up", "Down"',
        'status.count: Invalid value: "string": count in body must be of type integer: "string"',
    ]
    assert WIDE.validate_status(bad, copy.deepcopy(bad)) == []


def test_the_tree_of_a_type_says_how_its_fields_merge() -> None:
    spec = JOB.node.fields["spec"]
    assert (spec.kind, spec.atomic) == ("object", False)
    env = spec.fields["env"]
    assert (env.kind, env.list_type, env.map_keys, env.atomic) == ("list", "map", ("name",), False)
    assert spec.fields["products"].list_type == "set"
    assert (spec.fields["selector"].kind, spec.fields["selector"].atomic) == ("map", True)
    assert spec.fields["template"].child("x") is not None
    assert spec.child("nothing") is None
    assert JOB.node.fields["metadata"].fields["ownerReferences"].map_keys == ("uid",)
    assert spec.fields["gpuCount"].default == 1
    assert not spec.fields["image"].has_default
    assert spec.fields["child"].fields["metadata"].fields["labels"].kind == "map"


def test_a_model_that_contains_itself_is_refused() -> None:
    class Loop(APIModel):
        """A loop."""

        again: list[Loop] | None = None

    Loop.model_rebuild(_types_namespace={"Loop": Loop})
    with pytest.raises(TypeError, match="Loop -> Loop"):
        Schema.from_model(Loop)


@pytest.mark.parametrize(
    "keyword",
    [{"allOf": [{}]}, {"oneOf": [{}]}, {"not": {}, "anyOf": [{}]}, {"format": "email", "type": "string"}],
)
def test_a_schema_that_could_not_be_checked_is_refused(keyword: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="not supported"):
        Schema.from_openapi({"type": "object", "properties": {"x": keyword}})


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 200),
    st.sampled_from([0.25, 1.0, 1.5, 2.0**31, 2**31, 2**63, -(2**63)]),
    st.sampled_from(
        ["", "a", "b", "ab", "abcdef", "v1.2", "1h", "2026-01-02T03:04:05Z", "2026-01-02", "YWJj", "64Gi"]
    ),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["a", "name", "value", "port", "protocol", "inner", "leaf"]), inner, max_size=3
        ),
    ),
    max_leaves=6,
)
_NAMES = sorted(RECORDED["schema"]["properties"]["spec"]["properties"])


@settings(max_examples=600, derandomize=True, deadline=None)
@given(st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=4))
def test_the_quick_way_to_validate_gives_the_answer_of_the_complete_one(spec: dict[str, Any]) -> None:
    obj = {"spec": spec}
    assert WIDE.validate(obj) == WIDE.explain(obj)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.dictionaries(st.sampled_from([*_NAMES, "unknown"]), _VALUES, max_size=4))
def test_pruning_and_defaulting_are_done_once_and_for_all(spec: dict[str, Any]) -> None:
    obj = {"spec": spec}
    WIDE.prune(obj)
    WIDE.default(obj)
    once = copy.deepcopy(obj)
    assert WIDE.prune(obj) == []
    WIDE.default(obj)
    assert obj == once


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted({*_NAMES} - {"env", "ports"})), _VALUES, max_size=4))
def test_an_update_that_changes_nothing_has_no_errors_of_values(spec: dict[str, Any]) -> None:
    obj = {"spec": spec}
    left = [
        error
        for error in WIDE.validate(obj, copy.deepcopy(obj))
        if not error.path.startswith("spec.embedded")
    ]
    assert left == []
