"""Take fields out of an object.

Semantics: `typed.RemoveItems` of sigs.k8s.io/structured-merge-diff, but for one thing: a map or list that
stays and loses all its content is empty then; upstream leaves null, which validation refuses."""

from __future__ import annotations

from typing import Any

from apiserver.machinery.managedfields.fieldset import DOT, FieldSet, entry_of, is_member
from apiserver.machinery.managedfields.shape import Shape


def remove(obj: dict[str, Any], fields: FieldSet, shape: Shape) -> dict[str, Any]:
    """The object without the paths of the set. The given one stays as it is; unchanged parts are shared."""
    return _from_map(obj, fields, shape)


def _below(value: Any, fields: FieldSet, shape: Shape) -> Any:
    if shape.kind in ("map", "any") and isinstance(value, dict):
        return _from_map(value, fields, shape)
    if shape.kind == "list" and isinstance(value, list):
        return _from_list(value, fields, shape)
    return None if isinstance(value, dict | list) else value


def _from_map(value: dict[str, Any], fields: FieldSet, shape: Shape) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, item in value.items():
        entry = fields.get(f"f:{name}")
        child = shape.child(name)
        if entry is None or child is None:
            out[name] = item
        elif not is_member(entry):
            out[name] = _below(item, entry, child)
    return out


def _from_list(value: list[Any], fields: FieldSet, shape: Shape) -> list[Any]:
    out: list[Any] = []
    for item in value:
        entry = fields.get(shape.element(item))
        if entry is None or shape.item is None:
            out.append(item)
        elif not is_member(entry):
            out.append(_below(item, entry, shape.item))
    return out


def with_structs(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set with the declared fields on the way to its paths: a set of `a.b.c` then has `a` as well, if `a`
    is a declared field and not the entry of a map."""
    out: FieldSet = {}
    for element, entry in fields.items():
        if element == DOT:
            out[DOT] = entry
            continue
        name = element[2:] if element.startswith("f:") else None
        below = None
        declared = False
        if shape is not None:
            declared = name is not None and name in shape.fields
            below = shape.child(name) if name is not None else shape.item
        children = with_structs(entry, below) if entry else entry
        complete = entry_of(children, is_member(entry) or declared)
        out[element] = {} if complete is None else complete
    return out
