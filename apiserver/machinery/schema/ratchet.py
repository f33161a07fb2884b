"""What an update left alone: errors of unchanged values are not reported again.

Source: apiserver/pkg/cel/common/equality.go of Kubernetes 0.36 (CRDValidationRatcheting). Fields and map
entries are compared by name, items of list maps by their keys; other lists only as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.machinery import gotext

Json = dict[str, Any]

UNKNOWN: Any = object()
"""The old value where there is none to compare with."""


def by_keys(old: Any, keys: tuple[str, ...]) -> dict[Any, Any]:
    """The items of an old list map by their keys; the first of equal ones counts."""
    found: dict[Any, Any] = {}
    if isinstance(old, list):
        for item in old:
            found.setdefault(keys_of(item, keys), item)
    return found


def keys_of(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """The keys of an item as something to compare."""
    if not isinstance(item, dict):
        return ()
    return tuple((key, identity(item[key])) for key in keys if key in item)


def identity(value: Any) -> Any:
    """A JSON value as something hashable that tells 1, 1.0, true and "1" apart as Go does."""
    return value if value.__class__ is str else (value.__class__, gotext.to_json(value))


def same(value: Any, old: Any, schema: Mapping[str, Any]) -> bool:
    """Whether an old value says the same; the order of a list map's items does not matter."""
    if isinstance(value, dict) and isinstance(old, dict):
        return value.keys() == old.keys() and all(
            same(item, old[name], _child(schema, name)) for name, item in value.items()
        )
    if isinstance(value, list) and isinstance(old, list):
        return _same_list(value, old, schema)
    return type(value) is type(old) and bool(value == old)


def _child(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    extra = schema.get("additionalProperties")
    known: Mapping[str, Any] | None = schema.get("properties", {}).get(name)
    if known is not None:
        return known
    return extra if isinstance(extra, Mapping) else {}


def _same_list(value: list[Any], old: list[Any], schema: Mapping[str, Any]) -> bool:
    if len(value) != len(old):
        return False
    items = schema.get("items", {})
    if schema.get("x-kubernetes-list-type") != "map":
        return all(same(item, before, items) for item, before in zip(value, old, strict=True))
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    before = by_keys(old, keys)
    return all(same(item, before.get(keys_of(item, keys), UNKNOWN), items) for item in value)
