"""OpenAPI v3: one document for each group version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.machinery.gvk import GroupVersion
from apiserver.machinery.openapi.info import Info
from apiserver.machinery.openapi.meta import REF
from apiserver.machinery.openapi.models import models_of, roots_of, used
from apiserver.machinery.openapi.operations import JSON_TYPES, Operation, PathItem, paths_of, tag
from apiserver.machinery.openapi.parameters import Parameter
from apiserver.machinery.resource import Resource

Json = dict[str, Any]

_ANSWERS = {200: "OK", 201: "Created", 202: "Accepted"}


def build_v3(group_version: GroupVersion, resources: Sequence[Resource], info: Info | None = None) -> Json:
    """The document of one group version: the resources of its group that serve its version."""
    about = info or Info()
    mine = [resource for resource in resources if _serves(resource, group_version)]
    items = [item for resource in mine for item in paths_of(resource, group_version.version)]
    own = {
        name: model for resource in mine for name, model in models_of(resource, group_version.version).items()
    }
    return {
        "openapi": "3.0.0",
        "info": {"title": about.title, "version": about.version},
        "paths": {item.path: _path(item) for item in sorted(items, key=lambda item: item.path)},
        "components": {
            "schemas": {name: render(model) for name, model in used([*own, *roots_of(items)], own).items()}
        },
    }


def _serves(resource: Resource, group_version: GroupVersion) -> bool:
    version = resource.by_version.get(group_version.version)
    return resource.group == group_version.group and version is not None and version.served


def _path(item: PathItem) -> Json:
    path: Json = {operation.method: _operation(operation, item) for operation in item.operations}
    path["parameters"] = [_parameter(parameter) for parameter in item.parameters]
    return path


def _operation(operation: Operation, item: PathItem) -> Json:
    gvk = item.gvk
    out: Json = {
        "tags": [tag(gvk.group_version)],
        "description": operation.description,
        "operationId": operation.id,
        "parameters": [_parameter(parameter) for parameter in operation.parameters],
        "responses": {
            **{
                str(code): {"description": _ANSWERS[code], "content": _content(operation.answer, JSON_TYPES)}
                for code in operation.codes
            },
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
    }
    if not operation.parameters:
        del out["parameters"]
    if operation.body is not None:
        out["requestBody"] = {"content": _content(operation.body, operation.consumes)}
        if operation.body_required:
            out["requestBody"]["required"] = True
    return out


def _content(model: str, types: Sequence[str]) -> Json:
    schema = {"$ref": f"#/components/schemas/{model}"} if model else {"type": "object"}
    return {media_type: {"schema": schema} for media_type in types}


def _parameter(parameter: Parameter) -> Json:
    out: Json = {"name": parameter.name, "in": parameter.place, "description": parameter.description}
    if parameter.place == "path":
        out["required"] = True
    out["schema"] = {"type": parameter.type, "uniqueItems": True}
    return out


def render(schema: Any) -> Any:
    """A schema with its references in the form of v3, where a reference has no siblings."""
    if isinstance(schema, list):
        return [render(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if REF not in schema:
        return {key: render(value) for key, value in schema.items()}
    target = {"$ref": f"#/components/schemas/{schema[REF]}"}
    siblings = {key: value for key, value in schema.items() if key != REF}
    return {**siblings, "allOf": [target]} if siblings else target
