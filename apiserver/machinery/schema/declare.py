"""From a model to an OpenAPI v3 structural schema, as one would write it into a CustomResourceDefinition.

Structural schemas have no references: every model is spelled out where it is used, so a model may not
contain itself.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from apiserver.machinery.model import APIModel, Extension

Json = dict[str, Any]

_SCALARS: dict[Any, Json] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
}
_ANY: Json = {"x-kubernetes-preserve-unknown-fields": True}
_LIMITS = (("ge", "minimum"), ("le", "maximum"), ("multiple_of", "multipleOf"), ("pattern", "pattern"))
_LENGTHS = {
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
    "string": ("minLength", "maxLength"),
}

ROOT_PROPERTIES: Json = {
    "apiVersion": {
        "type": "string",
        "description": "Group and version of the schema in which this object is written, such as apps/v1.",
    },
    "kind": {"type": "string", "description": "Type of the object in CamelCase; it cannot be changed."},
    "metadata": {"type": "object"},
}
"""What every object has beside its own fields. CRDs refuse anything more about metadata."""


def schema_of_root(model: type[APIModel]) -> Json:
    """The schema of a whole object of this model."""
    schema = _model_schema(model, ())
    own = schema.get("properties", {})
    schema["properties"] = {**deepcopy(ROOT_PROPERTIES), **own}
    return schema


def _model_schema(model: type[BaseModel], parents: tuple[type[BaseModel], ...]) -> Json:
    if model in parents:
        chain = " -> ".join(parent.__name__ for parent in (*parents, model))
        raise TypeError(f"a structural schema cannot be recursive: {chain}")
    schema: Json = {"type": "object"}
    if model.__doc__:
        schema["description"] = _prose(model.__doc__)
    properties: Json = {}
    required: list[str] = []
    for name, info in model.model_fields.items():
        wire = info.alias or name
        properties[wire] = _field_schema(info, (*parents, model), f"{model.__name__}.{name}")
        if info.is_required():
            required.append(wire)
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = sorted(required)
    return schema


def _field_schema(info: FieldInfo, parents: tuple[type[BaseModel], ...], where: str) -> Json:
    schema = _type_schema(info.annotation, parents, where)
    _apply_metadata(schema, info.metadata)
    if info.description:
        schema["description"] = _prose(info.description)
    default = None if info.is_required() else info.get_default(call_default_factory=True, validated_data={})
    if default is not None:
        schema["default"] = _to_json(default)
    if isinstance(info.json_schema_extra, Mapping):
        schema.update(info.json_schema_extra)
    return schema


def _to_json(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return deepcopy(value)


def _type_schema(annotation: Any, parents: tuple[type[BaseModel], ...], where: str) -> Json:
    if annotation in _SCALARS:
        return dict(_SCALARS[annotation])
    if annotation is Any:
        return dict(_ANY)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        schema = _type_schema(args[0], parents, where)
        _apply_metadata(schema, args[1:])
        return schema
    if origin is Literal:
        return _literal_schema(args, where)
    if origin in (Union, types.UnionType):
        return _union_schema(args, parents, where)
    if origin is list:
        return {"type": "array", "items": _type_schema(args[0], parents, where)}
    if origin is dict:
        return _map_schema(args, parents, where)
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return _model_schema(annotation, parents)
    raise TypeError(f"{where}: no schema for {annotation!r}")


def _literal_schema(values: tuple[Any, ...], where: str) -> Json:
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        raise TypeError(f"{where}: the values of an enumeration must be of one type")
    return {**_SCALARS[kinds.pop()], "enum": list(values)}


def _union_schema(args: tuple[Any, ...], parents: tuple[type[BaseModel], ...], where: str) -> Json:
    real = [arg for arg in args if arg is not type(None)]
    if set(real) == {int, str}:
        return {"x-kubernetes-int-or-string": True}
    if len(real) != 1:
        raise TypeError(f"{where}: a structural schema has one type, or integer and string")
    return _type_schema(real[0], parents, where)


def _map_schema(args: tuple[Any, ...], parents: tuple[type[BaseModel], ...], where: str) -> Json:
    key, value = args
    if get_origin(key) is Annotated:
        key = get_args(key)[0]
    if key is not str:
        raise TypeError(f"{where}: the keys of a map are strings")
    if value is Any:
        return {"type": "object", **_ANY}
    return {"type": "object", "additionalProperties": _type_schema(value, parents, where)}


def _apply_metadata(schema: Json, metadata: Iterable[Any]) -> None:
    for item in metadata:
        if isinstance(item, Extension):
            schema.update(deepcopy(item.keys))
        elif isinstance(item, FieldInfo):
            _apply_metadata(schema, item.metadata)
            if item.description:
                schema["description"] = _prose(item.description)
        else:
            _apply_limit(schema, item)


def _apply_limit(schema: Json, item: Any) -> None:
    """Read the limits of annotated_types and of pydantic, which carry them as attributes."""
    for name, key in _LIMITS:
        value = getattr(item, name, None)
        if value is not None:
            schema[key] = value
    for name, key, flag in (("gt", "minimum", "exclusiveMinimum"), ("lt", "maximum", "exclusiveMaximum")):
        value = getattr(item, name, None)
        if value is not None:
            schema[key], schema[flag] = value, True
    keys = _LENGTHS.get(schema.get("type", "string"), _LENGTHS["string"])
    for name, key in zip(("min_length", "max_length"), keys, strict=True):
        value = getattr(item, name, None)
        if value is not None:
            schema[key] = value


def _prose(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split())
