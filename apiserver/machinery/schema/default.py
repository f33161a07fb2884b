"""Defaulting: absent fields get their defaults, and nulls that mean nothing disappear.

Source: defaulting/algorithm.go and prunenulls.go of k8s.io/apiextensions-apiserver 0.36. Defaults apply
only inside of objects that are there (or have a default themselves); a null where null is not a value
counts as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Default = Callable[[Any], None]
"""Takes a dict or list and fills it in."""


@dataclass(frozen=True, slots=True)
class _Field:
    default: Any
    nullable: bool
    descend: Default


def compile_default(schema: Mapping[str, Any], *, keep_nulls: bool = False) -> Default:
    """The defaulting of values of this schema. `keep_nulls` leaves nulls that no default replaces, for
    validation to find: what was applied is not decoded again, upstream."""
    fields = {name: _field(value, keep_nulls) for name, value in schema.get("properties", {}).items()}
    extra = schema.get("additionalProperties")
    additional = _field(extra, keep_nulls) if isinstance(extra, Mapping) else None
    items = _field(schema["items"], keep_nulls) if "items" in schema else None
    defaults = [(name, field) for name, field in fields.items() if field.default is not None]

    def default(value: Any) -> None:
        if value.__class__ is list:
            if items is not None:
                _default_items(value, items)
            return
        for name, field in defaults:
            if name not in value or (value[name] is None and not field.nullable):
                value[name] = _copy(field.default)
        nulls: list[str] = []
        for name, item in value.items():
            kind = item.__class__
            if kind is dict or kind is list:
                known = fields.get(name, additional)
                if known is not None:
                    known.descend(item)
            elif item is None:
                nulls.append(name)
        if nulls:
            _settle_nulls(value, nulls, fields, additional, keep_nulls)

    return default


def _field(schema: Mapping[str, Any], keep_nulls: bool) -> _Field:
    nullable = bool(schema.get("nullable"))
    return _Field(schema.get("default"), nullable, compile_default(schema, keep_nulls=keep_nulls))


def _settle_nulls(
    value: Json, names: list[str], fields: dict[str, _Field], additional: _Field | None, keep_nulls: bool
) -> None:
    for name in names:
        known = fields.get(name, additional)
        if known is None or known.nullable:
            continue
        if known.default is None:
            if not keep_nulls:
                del value[name]
        else:
            value[name] = _copy(known.default)
            _descend(known, value[name])


def _default_items(value: list[Any], items: _Field) -> None:
    for position, item in enumerate(value):
        if item is None and not items.nullable and items.default is not None:
            value[position] = _copy(items.default)
        _descend(items, value[position])


def _descend(known: _Field, item: Any) -> None:
    if item.__class__ is dict or item.__class__ is list:
        known.descend(item)


def _copy(default: Any) -> Any:
    return deepcopy(default) if isinstance(default, dict | list) else default
