"""The shape of a type as a tree, for those who walk objects by field: server-side apply, printing, selectors.

It says what may be told apart and merged, and nothing about which values are valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["scalar", "object", "map", "list", "any"]
ListType = Literal["atomic", "set", "map"]

_MISSING: Any = object()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One place in a type.

    `object` has named `fields`, `map` has free keys with values of shape `additional`, `list` has `items`;
    `any` is a value of which nothing is known (its shape follows from the value at hand). `atomic` is set
    where the value has one owner as a whole: scalars, atomic lists, atomic maps and objects. An `object`
    with `preserve_unknown` has, beside `fields`, unknown ones of kind `any`.
    """

    kind: Kind
    type: str = ""
    """`string`, `integer`, `number`, `boolean`, `int-or-string`, `object`, `array` or empty when unknown.
    """
    list_type: ListType = "atomic"
    map_keys: tuple[str, ...] = ()
    fields: Mapping[str, Node] = field(default_factory=dict)
    items: Node | None = None
    additional: Node | None = None
    atomic: bool = False
    preserve_unknown: bool = False
    default: Any = _MISSING

    @property
    def has_default(self) -> bool:
        """Whether `default` is given (None may be one)."""
        return self.default is not _MISSING

    def child(self, name: str) -> Node | None:
        """The shape of a field or map entry; None if the type has no such field."""
        known = self.fields.get(name)
        if known is not None:
            return known
        if self.additional is not None:
            return self.additional
        return ANY if self.preserve_unknown or self.kind == "any" else None


ANY = Node("any", preserve_unknown=True)
"""A value of which nothing is known."""


def node_from_openapi(schema: Mapping[str, Any]) -> Node:
    """The tree of an OpenAPI v3 structural schema."""
    default = schema.get("default", _MISSING)
    if schema.get("x-kubernetes-int-or-string"):
        return Node("scalar", "int-or-string", atomic=True, default=default)
    kind = schema.get("type", "")
    preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if kind == "array":
        return _list_node(schema, default)
    if kind == "object":
        return _object_node(schema, default, preserve)
    if not kind:
        return Node("any", preserve_unknown=True, default=default)
    return Node("scalar", kind, atomic=True, default=default)


def _list_node(schema: Mapping[str, Any], default: Any) -> Node:
    list_type: ListType = schema.get("x-kubernetes-list-type", "atomic")
    items = schema.get("items")
    return Node(
        "list",
        "array",
        list_type=list_type,
        map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        items=node_from_openapi(items) if items is not None else ANY,
        atomic=list_type == "atomic",
        default=default,
    )


def _object_node(schema: Mapping[str, Any], default: Any, preserve: bool) -> Node:
    fields = {name: node_from_openapi(value) for name, value in schema.get("properties", {}).items()}
    extra = schema.get("additionalProperties")
    additional: Node | None = None
    if isinstance(extra, Mapping):
        additional = node_from_openapi(extra)
    elif extra is True:
        additional = ANY
    if schema.get("x-kubernetes-embedded-resource"):
        fields = {"apiVersion": _STRING, "kind": _STRING, "metadata": OBJECT_META, **fields}
    return Node(
        "map" if additional is not None and not fields else "object",
        "object",
        fields=fields,
        additional=additional,
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        preserve_unknown=preserve,
        default=default,
    )


_STRING = Node("scalar", "string", atomic=True)
_INTEGER = Node("scalar", "integer", atomic=True)
_BOOLEAN = Node("scalar", "boolean", atomic=True)
_STRING_MAP = Node("map", "object", additional=_STRING)

_OWNER = Node(
    "object",
    "object",
    fields={
        "apiVersion": _STRING,
        "kind": _STRING,
        "name": _STRING,
        "uid": _STRING,
        "controller": _BOOLEAN,
        "blockOwnerDeletion": _BOOLEAN,
    },
    atomic=True,
)

_META_STRINGS = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
)
OBJECT_META = Node(
    "object",
    "object",
    fields={
        **dict.fromkeys(_META_STRINGS, _STRING),
        "generation": _INTEGER,
        "deletionGracePeriodSeconds": _INTEGER,
        "labels": _STRING_MAP,
        "annotations": _STRING_MAP,
        "finalizers": Node("list", "array", list_type="set", items=_STRING),
        "ownerReferences": Node("list", "array", list_type="map", map_keys=("uid",), items=_OWNER),
        "managedFields": Node("list", "array", items=ANY, atomic=True),
    },
)
"""The shape of `metav1.ObjectMeta`, with the merge rules that upstream's definition declares."""
