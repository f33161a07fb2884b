"""The documents are structured like those of kube-apiserver for CRDs of the same
declaration, and fit to be merged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from apiserver.machinery.gvk import GroupVersion
from apiserver.machinery.model import NULLABLE, APIModel, EmbeddedResource, Int32, IntOrString, ListMap, Time
from apiserver.machinery.openapi import Info, build_v2, build_v3
from apiserver.machinery.resource import READ_VERBS, Resource, Scale, Version

HERE = Path(__file__).parent
CRD_V2 = json.loads((HERE / "crd_v2.json").read_text())
CRD_V3 = json.loads((HERE / "crd_v3.json").read_text())
GV = GroupVersion("ai.example.com", "v1")
META = "io.k8s.apimachinery.pkg.apis.meta.v1."


class Variable(APIModel):
    """A variable."""

    name: str = Field(description="Name.")


class Spec(APIModel):
    """What is wanted."""

    replicas: Int32 = Field(default=1, ge=0, description="How many.")
    port: IntOrString | None = Field(default=None, description="Port.")
    free: dict[str, Any] | None = Field(default=None, description="Free.")
    maybe: Annotated[str, NULLABLE] | None = Field(default=None, description="Maybe.")
    env: Annotated[list[Variable], ListMap("name")] | None = Field(default=None, description="Variables.")
    anything: Any = Field(default=None, description="Anything.")
    embedded: Annotated[dict[str, Any], EmbeddedResource] | None = Field(
        default=None, description="An object."
    )
    when: Time | None = Field(default=None, description="When.")
    mode: Literal["a", "b"] | None = Field(default=None, description="Mode.")
    amounts: dict[str, IntOrString] | None = Field(default=None, description="Amounts.")


class Status(APIModel):
    """What there is."""

    replicas: int | None = Field(default=None, description="How many.")


class Widget(APIModel):
    """A widget."""

    spec: Spec = Field(description="What is wanted.")
    status: Status | None = Field(default=None, description="What there is.")


WIDGETS = Resource(
    group="ai.example.com",
    kind="Widget",
    plural="widgets",
    versions=(Version("v1", Widget), Version("v1alpha1", Widget), Version("v0", Widget, served=False)),
    storage_version="v1",
    scale=Scale(".spec.replicas", ".status.replicas"),
    selectable_fields=("spec.mode",),
)
FLEETS = Resource(
    group="ai.example.com",
    kind="Fleet",
    plural="fleets",
    versions=(Version("v1", Widget),),
    storage_version="v1",
    namespaced=False,
    selectable_fields=("spec.mode",),
)
READ_ONLY = Resource(
    group="ai.example.com",
    kind="Ledger",
    plural="ledgers",
    versions=(Version("v1", Widget),),
    storage_version="v1",
    verbs=READ_VERBS,
    status=False,
    actions={"binding": object()},
)
BOTH = (WIDGETS, FLEETS)
DOCUMENTS = {
    "v2": build_v2((*BOTH, READ_ONLY), Info("test", "v9")),
    "v3": build_v3(GV, (*BOTH, READ_ONLY), Info("test", "v9")),
    "v3 of the older version": build_v3(GroupVersion("ai.example.com", "v1alpha1"), (*BOTH, READ_ONLY)),
}


def _structure(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _structure(item)
            for key, item in value.items()
            if not (key == "description" and isinstance(item, str))
        }
    return [_structure(item) for item in value] if isinstance(value, list) else value


def _as_ours(recorded: Any) -> Any:
    """What kube-apiserver publishes and we do not: sharding, which is an alpha feature of its own."""
    if isinstance(recorded, dict):
        return {
            key: _as_ours(item)
            for key, item in recorded.items()
            if key != "shardInfo" and not key.endswith("ShardInfo")
        }
    if isinstance(recorded, list):
        return [
            _as_ours(item)
            for item in recorded
            if not (isinstance(item, dict) and item.get("name") == "shardSelector")
        ]
    return recorded


def _models(recorded: dict[str, Any]) -> dict[str, Any]:
    """Models without the GVKs of shared types, which may occur only once in a merged document."""
    models = _as_ours(recorded)
    for name, model in models.items():
        if name.startswith("io.k8s."):
            model.pop("x-kubernetes-group-version-kind", None)
    return dict(models)


def _sorted(value: Any) -> Any:
    """Lists in which the order says nothing, sorted."""
    if isinstance(value, dict):
        return {
            key: sorted(item) if key in ("required", "consumes") and isinstance(item, list) else _sorted(item)
            for key, item in value.items()
        }
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def test_v3_paths_are_those_of_a_crd() -> None:
    ours = _structure(build_v3(GV, BOTH))["paths"]
    assert _sorted(ours) == _sorted(_as_ours(CRD_V3["paths"]))


def test_v3_models_are_those_of_a_crd() -> None:
    ours = _structure(build_v3(GV, BOTH))["components"]["schemas"]
    assert _sorted(ours) == _sorted(_models(CRD_V3["components"]["schemas"]))


def test_v2_paths_are_those_of_a_crd() -> None:
    ours = {path: item for path, item in _structure(build_v2(BOTH))["paths"].items() if "/v1/" in path}
    assert _sorted(ours) == _sorted(_as_ours(CRD_V2["paths"]))


def test_v2_models_are_those_of_a_crd() -> None:
    ours = _structure(build_v2(BOTH))["definitions"]
    older = "com.example.ai.v1alpha1."
    assert _sorted({k: v for k, v in ours.items() if not k.startswith(older)}) == _sorted(
        _models(CRD_V2["definitions"])
    )
    assert {name for name in ours if name.startswith(older)} == {f"{older}Widget", f"{older}WidgetList"}


def _walk(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    yield where, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, f"{where}/{key}")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _walk(item, f"{where}/{position}")


def _models_of(document: dict[str, Any]) -> dict[str, Any]:
    models: dict[str, Any] = (
        document["definitions"] if "swagger" in document else document["components"]["schemas"]
    )
    return models


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield path, method, operation, item["parameters"] + operation.get("parameters", [])


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_every_reference_leads_to_a_model_with_a_name_that_clients_can_use(document: dict[str, Any]) -> None:
    prefix = "#/definitions/" if "swagger" in document else "#/components/schemas/"
    references = {
        value["$ref"] for _, value in _walk(document) if isinstance(value, dict) and "$ref" in value
    }
    assert {reference.removeprefix(prefix) for reference in references} <= set(_models_of(document))
    assert all(re.fullmatch("[A-Za-z0-9._-]+", name) for name in _models_of(document))


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_every_model_and_field_and_parameter_and_operation_is_described(document: dict[str, Any]) -> None:
    assert [name for name, model in _models_of(document).items() if not model.get("description")] == []
    for where, value in _walk(_models_of(document)):
        for name, field in value.get("properties", {}).items() if isinstance(value, dict) else ():
            assert field.get("description"), f"{where}.{name}"
    for path, method, operation, parameters in _operations(document):
        assert operation["description"], (path, method)
        described = [parameter.get("description") for parameter in parameters if parameter["in"] != "body"]
        assert all(described), (path, method)


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_operations_have_ids_of_their_own_and_name_their_path_parameters(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation, _ in _operations(document)]
    assert len(set(ids)) == len(ids)
    for path, _, operation, parameters in _operations(document):
        named = {parameter["name"] for parameter in parameters if parameter["in"] == "path"}
        assert named == set(re.findall(r"{(\w+)}", path))
        places = [(parameter["in"], parameter["name"]) for parameter in parameters]
        assert len(set(places)) == len(places)
        assert "200" in operation["responses"]


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_no_kind_is_published_twice_and_shared_types_claim_none(document: dict[str, Any]) -> None:
    kinds = [
        json.dumps(gvk, sort_keys=True)
        for model in _models_of(document).values()
        for gvk in model.get("x-kubernetes-group-version-kind", ())
    ]
    assert len(set(kinds)) == len(kinds)
    shared = [name for name in _models_of(document) if name.startswith("io.k8s.")]
    assert shared
    assert all("x-kubernetes-group-version-kind" not in _models_of(document)[name] for name in shared)


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_patch_says_inline_that_the_server_validates_fields(document: dict[str, Any]) -> None:
    patches = [operation for _, method, operation, _ in _operations(document) if method == "patch"]
    assert patches
    for operation in patches:
        assert operation["x-kubernetes-group-version-kind"]["kind"] in ("Widget", "Fleet")
        assert "fieldValidation" in [parameter.get("name") for parameter in operation["parameters"]]


def test_only_what_a_resource_can_do_is_published() -> None:
    document = DOCUMENTS["v3"]
    methods = {
        (path.rpartition("v1/")[2], method)
        for path, method, _, _ in _operations(document)
        if "ledgers" in path
    }
    one = "namespaces/{namespace}/ledgers/{name}"
    assert methods == {
        ("namespaces/{namespace}/ledgers", "get"),
        (one, "get"),
        (f"{one}/binding", "post"),
        ("ledgers", "get"),
    }


def test_an_older_version_has_its_own_document_and_a_version_that_is_not_served_has_none() -> None:
    older = DOCUMENTS["v3 of the older version"]
    assert "com.example.ai.v1alpha1.Widget" in _models_of(older)
    assert not [path for path in older["paths"] if "fleets" in path or "/v1/" in path]
    empty = build_v3(GroupVersion("ai.example.com", "v0"), BOTH)
    assert (empty["paths"], empty["components"]["schemas"]) == ({}, {})
    assert not [path for path in DOCUMENTS["v2"]["paths"] if "/v0/" in path]


def test_kinds_of_the_core_group_are_published_under_its_own_path_and_names() -> None:
    core = Resource(
        group="", kind="Pod", plural="pods", versions=(Version("v1", Widget),), storage_version="v1"
    )
    document = build_v3(GroupVersion("", "v1"), (core,))
    assert "/api/v1/namespaces/{namespace}/pods/{name}" in document["paths"]
    assert "io.k8s.api.core.v1.Pod" in _models_of(document)
    operation = document["paths"]["/api/v1/pods"]["get"]
    assert (operation["operationId"], operation["tags"]) == ("listCoreV1PodForAllNamespaces", ["core_v1"])


def test_the_documents_are_json_and_do_not_change_from_one_build_to_the_next() -> None:
    assert json.dumps(build_v2(BOTH)) == json.dumps(build_v2(BOTH))
    assert json.dumps(build_v3(GV, BOTH)) == json.dumps(build_v3(GV, BOTH))
    assert DOCUMENTS["v2"]["info"] == {"title": "test", "version": "v9"}
