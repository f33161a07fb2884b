"""Lists of type set and map: an item, or a key, occurs once.

Source: schema/listtype/validation.go of k8s.io/apiextensions-apiserver 0.36. An item that occurs three
times is reported once, at its second place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.machinery.field import FieldError, Path, duplicate, invalid
from apiserver.machinery.schema.ratchet import identity, keys_of

Uniqueness = Callable[[Any, str, list[FieldError]], None]
"""Takes a dict or list, its path and the list of errors."""


def compile_uniqueness(schema: Mapping[str, Any]) -> Uniqueness | None:
    """The check of all sets and maps below this schema; None if there are none."""
    fields = {
        name: found
        for name, value in schema.get("properties", {}).items()
        if (found := compile_uniqueness(value)) is not None
    }
    extra = schema.get("additionalProperties")
    additional = compile_uniqueness(extra) if isinstance(extra, Mapping) else None
    items = compile_uniqueness(schema["items"]) if "items" in schema else None
    own = _own(schema)
    if not fields and additional is None and items is None and own is None:
        return None

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if value.__class__ is list:
            if own is not None:
                own(value, path, errors)
            if items is not None:
                for position, item in enumerate(value):
                    items(item, f"{path}[{position}]", errors)
        elif value.__class__ is dict:
            if additional is not None:
                for name, item in value.items():
                    additional(item, f"{path}[{name}]", errors)
            for name, field in fields.items():
                if name in value:
                    field(value[name], f"{path}.{name}" if path else name, errors)

    return check


def _own(schema: Mapping[str, Any]) -> Uniqueness | None:
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        return _check_set
    if kind == "map":
        keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
        return lambda value, path, errors: _check_map(value, path, errors, keys)
    return None


def _check_set(value: list[Any], path: str, errors: list[FieldError]) -> None:
    if len(value) > 1:
        errors += (duplicate(Path(path).index(at), value[at]) for at in _repeated(list(map(identity, value))))


def _check_map(value: list[Any], path: str, errors: list[FieldError], keys: tuple[str, ...]) -> None:
    for position, item in enumerate(value):
        if item.__class__ is not dict and item is not None:
            detail = "must be an object for an array of list-type map"
            errors.append(invalid(Path(path).index(position), item, detail))
            return
    if len(value) > 1:
        for at in _repeated([keys_of(item, keys) for item in value]):
            item = value[at] or {}
            errors.append(duplicate(Path(path).index(at), {key: item[key] for key in keys if key in item}))


def _repeated(identities: list[Any]) -> list[int]:
    """Where each repeated one occurs for the second time."""
    if len(set(identities)) == len(identities):
        return []
    seen: dict[Any, int] = {}
    found = []
    for position, one in enumerate(identities):
        seen[one] = seen.get(one, 0) + 1
        if seen[one] == 2:
            found.append(position)
    return found
