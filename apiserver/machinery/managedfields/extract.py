"""From an object to the set of its fields.

Two questions have two answers: which fields does somebody who applies this object name (`named_fields`), and
which paths does a value add that was not there before (`all_fields`).
"""

from __future__ import annotations

from typing import Any

from apiserver.machinery.managedfields.fieldset import FieldSet, entry_of
from apiserver.machinery.managedfields.shape import Shape, TypedError


def named_fields(obj: dict[str, Any], shape: Shape) -> FieldSet:
    """The set that an applied object owns: its leaves, its list items and map entries, but not the structs on
    the way to them. Raises TypedError."""
    return _named_map(obj, shape)


def _named_map(value: dict[str, Any], shape: Shape) -> FieldSet:
    out: FieldSet = {}
    for name, item in value.items():
        child = shape.child(name)
        if child is None:
            continue
        children = _named_below(item, child)
        leaf = children is None
        member = leaf or item is None or item == {} or name not in shape.fields
        entry = entry_of(children or {}, member)
        if entry is not None:
            out[f"f:{name}"] = entry
    return out


def _named_below(value: Any, shape: Shape) -> FieldSet | None:
    """The paths below a value; None when the value is owned as a whole."""
    if value is None:
        return None if shape.kind == "leaf" else {}
    if shape.kind == "map" or (shape.kind == "any" and isinstance(value, dict)):
        return _named_map(_as_map(value), shape)
    return _named_list(_as_list(value), shape) if shape.kind == "list" else None


def _named_list(value: list[Any], shape: Shape) -> FieldSet:
    out: FieldSet = {}
    for element, items in by_element(value, shape).items():
        children = _named_below(items[0], _item(shape)) if len(items) == 1 else None
        entry = entry_of(children or {}, True)
        out[f"{element}"] = {} if entry is None else entry
    return out


def all_fields(value: Any, shape: Shape | None) -> FieldSet:
    """The entry for a value that is new (or gone): its own path and every path below. Raises TypedError."""
    children: FieldSet = {}
    if not value or shape is None or shape.kind == "leaf":
        return children
    if shape.kind == "map" or (shape.kind == "any" and isinstance(value, dict)):
        for name, item in _as_map(value).items():
            children[f"f:{name}"] = all_fields(item, shape.child(name))
    elif shape.kind == "list":
        for element, items in by_element(_as_list(value), shape).items():
            children[element] = all_fields(items[0], shape.item) if len(items) == 1 else {}
    return {".": {}, **children} if children else children


def by_element(value: list[Any], shape: Shape) -> dict[str, list[Any]]:
    """The items of an associative list by their path elements, in order; more than one are duplicates.

    Raises TypedError for an item that cannot be told apart.
    """
    out: dict[str, list[Any]] = {}
    for index, item in enumerate(value):
        try:
            element = shape.element(item)
        except TypedError as error:
            raise TypedError(f": element {index}: {error}") from None
        if element in out:
            out[element].append(item)
        else:
            out[element] = [item]
    return out


def _item(shape: Shape) -> Shape:
    if shape.item is None:
        raise TypedError(": list without items")
    return shape.item


def _as_map(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypedError(f": expected map, got {value!r}")
    return value


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypedError(f": expected list, got {value!r}")
    return value
