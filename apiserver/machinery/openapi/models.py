"""The models of a document: the kinds of its resources, their lists, and the shared definitions in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from apiserver.machinery.gvk import GroupVersionKind
from apiserver.machinery.openapi.meta import API_VERSION, DEFINITIONS, KIND, META, REF, ref
from apiserver.machinery.openapi.operations import PathItem, model_name
from apiserver.machinery.resource import Resource

Json = dict[str, Any]

_GVK = "x-kubernetes-group-version-kind"
_SELECTABLE = "x-kubernetes-selectable-fields"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def models_of(resource: Resource, version: str) -> dict[str, Json]:
    """The kind of a resource in one version, and the kind of its lists."""
    gvk = resource.gvk(version)
    list_gvk = GroupVersionKind(gvk.group, gvk.version, resource.list_kind)
    return {
        model_name(gvk): _kind(resource, gvk),
        model_name(list_gvk): _list(resource, model_name(gvk), list_gvk),
    }


def _kind(resource: Resource, gvk: GroupVersionKind) -> Json:
    model = published(resource.by_version[gvk.version].schema.openapi)
    model.setdefault("description", f"A {resource.kind}.")
    _add_root(
        model, f"{META}.ObjectMeta", "Name, namespace, labels, annotations, owners and history of the object."
    )
    return model | _extensions(resource, gvk)


def _extensions(resource: Resource, gvk: GroupVersionKind) -> Json:
    extensions: Json = {_GVK: [{"group": gvk.group, "kind": gvk.kind, "version": gvk.version}]}
    if resource.selectable_fields:
        extensions[_SELECTABLE] = [{"fieldPath": path} for path in resource.selectable_fields]
    return extensions


def _list(resource: Resource, item: str, gvk: GroupVersionKind) -> Json:
    model: Json = {
        "description": f"A list of objects of kind {resource.kind}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "items": {"description": f"The {resource.plural}.", "type": "array", "items": ref(item)},
        },
    }
    _add_root(model, f"{META}.ListMeta", "Where the list stands in the history, and where it goes on.")
    return model | _extensions(resource, gvk)


def _add_root(model: Json, metadata: str, about: str) -> None:
    model["properties"] |= {
        "apiVersion": {"description": API_VERSION, "type": "string"},
        "kind": {"description": KIND, "type": "string"},
        "metadata": ref(metadata, description=about),
    }


def published(schema: Mapping[str, Any]) -> Json:
    """A structural schema as it is published: what extensions imply is spelled out."""
    out: Json = deepcopy({key: value for key, value in schema.items() if key not in ("properties", "items")})
    if "properties" in schema:
        out["properties"] = {name: published(value) for name, value in schema["properties"].items()}
    if "items" in schema:
        out["items"] = published(schema["items"])
    if isinstance(schema.get("additionalProperties"), Mapping):
        out["additionalProperties"] = published(schema["additionalProperties"])
    if schema.get("x-kubernetes-int-or-string"):
        out["anyOf"] = deepcopy(_INT_OR_STRING)
    if schema.get("x-kubernetes-embedded-resource"):
        out.setdefault("properties", {})
        _add_root(out, f"{META}.ObjectMeta", "Metadata of the embedded object.")
        out["required"] = ["kind", "apiVersion", *out.get("required", [])]
    return out


def used(roots: Iterable[str], own: Mapping[str, Json]) -> dict[str, Json]:
    """The models that are reached from the `roots`, sorted by name."""
    found: dict[str, Json] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = own[name] if name in own else DEFINITIONS[name]
            waiting += _references(found[name])
    return {name: found[name] for name in sorted(found)}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if REF in value:
            yield value[REF]
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def roots_of(items: Iterable[PathItem]) -> Iterator[str]:
    """The models that operations name."""
    for item in items:
        for operation in item.operations:
            yield from (name for name in (operation.answer, operation.body) if name)
