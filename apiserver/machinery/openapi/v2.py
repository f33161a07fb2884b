"""OpenAPI v2 (Swagger): one document for everything, which the aggregator merges into its own.

What v2 cannot say is left out as kube-apiserver leaves it out for CRDs (controller/openapi/v2/conversion.go):
defaults, and everything about values that may be null, or of more than one type, or unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.machinery.openapi.info import Info
from apiserver.machinery.openapi.meta import REF
from apiserver.machinery.openapi.models import models_of, roots_of, used
from apiserver.machinery.openapi.operations import JSON_TYPES, Operation, PathItem, paths_of, tag
from apiserver.machinery.openapi.parameters import Parameter
from apiserver.machinery.resource import Resource

Json = dict[str, Any]

_ANSWERS = {200: "OK", 201: "Created", 202: "Accepted"}
_UNTYPED = ("nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")
_DROPPED = ("default", "nullable", "anyOf")


def build_v2(resources: Sequence[Resource], info: Info | None = None) -> Json:
    """The document of all served versions of the resources."""
    about = info or Info()
    served = [
        (resource, version.name) for resource in resources for version in resource.versions if version.served
    ]
    items = [item for resource, version in served for item in paths_of(resource, version)]
    own = {
        name: model for resource, version in served for name, model in models_of(resource, version).items()
    }
    return {
        "swagger": "2.0",
        "info": {"title": about.title, "version": about.version},
        "paths": {item.path: _path(item) for item in sorted(items, key=lambda item: item.path)},
        "definitions": {name: render(model) for name, model in used([*own, *roots_of(items)], own).items()},
        "securityDefinitions": {
            "BearerToken": {
                "description": "Bearer token authentication.",
                "type": "apiKey",
                "name": "authorization",
                "in": "header",
            }
        },
        "security": [{"BearerToken": []}],
    }


def _path(item: PathItem) -> Json:
    path: Json = {operation.method: _operation(operation, item) for operation in item.operations}
    path["parameters"] = [_parameter(parameter) for parameter in item.parameters]
    return path


def _operation(operation: Operation, item: PathItem) -> Json:
    gvk = item.gvk
    parameters = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body is not None:
        parameters.insert(0, _body(operation.body, required=operation.body_required))
    out: Json = {
        "description": operation.description,
        "consumes": list(operation.consumes),
        "produces": list(JSON_TYPES),
        "schemes": ["https"],
        "tags": [tag(gvk.group_version)],
        "operationId": operation.id,
        "parameters": parameters,
        "responses": {
            **{
                str(code): {"description": _ANSWERS[code], "schema": _model(operation.answer)}
                for code in operation.codes
            },
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": gvk.group, "kind": gvk.kind, "version": gvk.version},
    }
    if not parameters:
        del out["parameters"]
    return out


def _body(model: str, *, required: bool) -> Json:
    body: Json = {"name": "body", "in": "body", "schema": _model(model)}
    if required:
        body["required"] = True
    return body


def _model(name: str) -> Json:
    return {"$ref": f"#/definitions/{name}"} if name else {"type": "object"}


def _parameter(parameter: Parameter) -> Json:
    out: Json = {
        "uniqueItems": True,
        "type": parameter.type,
        "description": parameter.description,
        "name": parameter.name,
        "in": parameter.place,
    }
    if parameter.place == "path":
        out["required"] = True
    return out


def render(schema: Any) -> Any:
    """A schema in the words of v2."""
    if isinstance(schema, list):
        return [render(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if REF in schema:
        about = {"description": schema["description"]} if "description" in schema else {}
        return {**about, "$ref": f"#/definitions/{schema[REF]}"}
    kept = {key: value for key, value in schema.items() if key not in _DROPPED}
    if any(schema.get(key) for key in _UNTYPED):
        return {key: value for key, value in kept.items() if key == "description" or key.startswith("x-")}
    if "properties" in kept:
        kept["properties"] = {name: render(value) for name, value in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = render(kept[key])
    return kept
