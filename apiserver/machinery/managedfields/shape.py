"""A schema tree compiled for the walks of server-side apply.

Knows which parts of a type merge field by field, which lists are told apart by keys or values, and where
nothing is declared. Built once for each version of a resource from the schema's `Node` tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from apiserver.machinery.managedfields.fieldset import key_element, value_element
from apiserver.machinery.schema.node import Node

Kind = Literal["leaf", "map", "list", "any"]


class TypedError(ValueError):
    """A value does not have the shape that its schema says; the message names the path and the reason."""


class Shape:
    """One place in a type.

    `leaf` has one owner as a whole (scalars, atomic lists and maps); `map` has `fields` and, for other keys,
    `extra` (None: there are none); `list` is associative: by `keys`, or by value without keys; `any` is a
    value of which nothing is declared: maps merge by key, lists do not. `loose` says that below are values of
    which the type is not known, so Python's equality (True == 1) is not enough to compare them. `folds` says
    that here or below is an atomic map or list, which older schemas may have merged field by field.
    """

    __slots__ = ("defaults", "extra", "fields", "folds", "item", "keys", "kind", "loose", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.fields: dict[str, Shape] = {}
        self.extra: Shape | None = None
        self.item: Shape | None = None
        self.keys: tuple[str, ...] = ()
        self.defaults: dict[str, Any] = {}
        self.kind: Kind = _kind(node)
        self.loose = self.kind == "any" or node.type == "int-or-string"
        self.folds = self.kind == "leaf" and node.kind != "scalar"

    def child(self, name: str) -> Shape | None:
        """The shape of a field or map entry, None when the type has no such field."""
        return self.fields.get(name, self.extra)

    def element(self, item: Any) -> str:
        """The path element of an item of this list. Raises TypedError when it cannot be told apart."""
        if not self.keys:
            return self._set_element(item)
        if item is None:
            raise TypedError("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise TypedError("associative list with keys may not have non-map elements")
        found = {}
        for name in self.keys:
            if name in item:
                found[name] = item[name]
            elif name in self.defaults:
                found[name] = self.defaults[name]
        if not found:
            names = " ".join(f'"{name}"' for name in self.keys)
            omits = f"associative list with keys has an element that omits all key fields [{names}]"
            raise TypedError(f"{omits} (and doesn't have default values for any key fields)")
        return key_element(found)

    def _set_element(self, item: Any) -> str:
        if isinstance(item, dict):
            raise TypedError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise TypedError("not supported: associative list with lists as elements")
        if item is None:
            raise TypedError("associative list without keys has an element that's an explicit null")
        return value_element(item)


def compile_shape(node: Node) -> Shape:
    """The shape of a schema tree."""
    if node.kind == "any":
        return ANY
    shape = Shape(node)
    shape.fields = {name: compile_shape(child) for name, child in node.fields.items()}
    if node.additional is not None:
        shape.extra = compile_shape(node.additional)
    elif node.preserve_unknown:
        shape.extra = ANY
    if node.items is not None:
        shape.item = compile_shape(node.items)
        shape.keys = node.map_keys if shape.kind == "list" else ()
        shape.defaults = _key_defaults(node.items.fields, shape.keys)
    parts = [*shape.fields.values(), *filter(None, (shape.extra, shape.item))]
    shape.loose = shape.loose or any(part.loose for part in parts)
    shape.folds = shape.folds or any(part.folds for part in parts)
    return shape


def _kind(node: Node) -> Kind:
    if node.kind == "any":
        return "any"
    if node.kind == "scalar" or node.atomic:
        return "leaf"
    return "list" if node.kind == "list" else "map"


def _key_defaults(fields: Mapping[str, Node], keys: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name].default for name in keys if name in fields and fields[name].has_default}


def _any_shape() -> Shape:
    shape = Shape(Node("any", preserve_unknown=True))
    shape.extra = shape
    return shape


ANY = _any_shape()
"""A value of which nothing is declared."""
