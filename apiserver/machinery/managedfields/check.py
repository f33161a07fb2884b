"""Whether an object that somebody applies has the shape of its type, in the words of server-side apply.

Semantics and texts: `typed.Validate` of sigs.k8s.io/structured-merge-diff. Values are judged by the schema
later; this only makes sure that fields can be owned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.machinery.codec.gotext import quote
from apiserver.machinery.managedfields.extract import by_element
from apiserver.machinery.managedfields.fieldset import element_text
from apiserver.machinery.managedfields.shape import Shape, TypedError

_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
}
_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map[string]interface {}"}


def check(obj: dict[str, Any], shape: Shape) -> str:
    """What is wrong with an applied object, as text with paths; empty when nothing is."""
    errors = list(_map("", obj, shape))
    return errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors]) if errors else ""


def _value(path: str, value: Any, shape: Shape) -> Iterator[str]:
    if value is None or shape.kind == "any" or shape.node.type == "int-or-string":
        return
    kind = shape.node.kind
    if kind == "scalar":
        yield from _scalar(path, value, shape.node.type)
    elif kind == "list":
        yield from _list(path, value, shape)
    elif isinstance(value, dict):
        yield from _map(path, value, shape)
    else:
        yield f"{path}: expected map, got {_shown(value)}"


def _scalar(path: str, value: Any, declared: str) -> Iterator[str]:
    accepted = _SCALARS.get(declared)
    if accepted is None or (
        isinstance(value, accepted) and (type(value) is not bool or declared == "boolean")
    ):
        return
    if declared == "string":
        yield f"{path}: expected string, got &value.valueUnstructured{{Value:{_syntax(value)}}}"
    elif declared == "boolean":
        yield f"{path}: expected boolean, got {_shown(value)}"
    else:
        yield f"{path}: expected numeric (int or float), got {_GO_TYPES.get(type(value), '[]interface {}')}"


def _map(path: str, value: dict[str, Any], shape: Shape) -> Iterator[str]:
    for name in sorted(value):
        child = shape.child(name)
        if child is None:
            yield f"{path}.{name}: field not declared in schema"
            return
        yield from _value(f"{path}.{name}", value[name], child)


def _list(path: str, value: Any, shape: Shape) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected list, got {_shown(value)}"
        return
    if shape.kind != "list":
        for index, item in enumerate(value if shape.item is not None else ()):
            yield from _value(f"{path}[{index}]", item, shape.item or shape)
        return
    try:
        items = by_element(value, shape)
    except TypedError as error:
        yield f"{path}{error}"
        return
    for element, found in items.items():
        text = element_text(element)
        if len(found) > 1:
            yield f"{path}: duplicate entries for key {text}"
        for item in found if shape.item is not None else ():
            yield from _value(f"{path}{text}", item, shape.item or shape)


def _shown(value: Any) -> str:
    """A value as Go prints it with `%v`, in the braces of the type that holds it."""
    return f"&{{{_plain(value)}}}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_plain(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_plain, value))}]"
    return "<nil>" if value is None else str(value)


def _syntax(value: Any) -> str:
    """A value as Go prints it with `%#v`."""
    if isinstance(value, dict):
        items = ", ".join(f"{quote(name)}:{_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return quote(value) if isinstance(value, str) else _plain(value)
