"""The complete check: every error of an object, and none that an update may leave alone.

Source: kube-openapi/pkg/validation/validate (object, slice and schema validators). kube-apiserver reports the
fields of an object in random order; here they come in the order of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.machinery.field import FieldError
from apiserver.machinery.schema.ratchet import UNKNOWN, by_keys, keys_of, same
from apiserver.machinery.schema.rules import (
    Rules,
    enum_errors,
    items_errors,
    missing,
    properties_errors,
    rules_of,
    value_errors,
)

Check = Callable[[Any, Any, str, list[FieldError]], None]
"""Takes a value, the old value or UNKNOWN, the path, and the list of errors."""

_NOTHING: dict[str, Any] = {}


def compile_check(schema: Mapping[str, Any]) -> Check:
    """The check of values of this schema. Raises TypeError for keywords that are not supported."""
    rules = rules_of(schema)
    check_fields = _fields(schema, rules)
    check_items = _items(schema, rules)

    def check(value: Any, old: Any, path: str, errors: list[FieldError]) -> None:
        start = len(errors)
        errors += value_errors(rules, value, path)
        if isinstance(value, list):
            check_items(value, old, path, errors)
        errors += enum_errors(rules, value, path)
        if isinstance(value, dict):
            check_fields(value, old, path, errors)
        if len(errors) > start and old is not UNKNOWN and same(value, old, schema):
            del errors[start:]

    return check


def _fields(schema: Mapping[str, Any], rules: Rules) -> Check:
    """The check of the fields of an object: number, free keys, known fields, then what is missing."""
    known = {name: compile_check(value) for name, value in schema.get("properties", {}).items()}
    extra = schema.get("additionalProperties")
    additional = compile_check(extra) if isinstance(extra, Mapping) else None
    required = tuple(schema.get("required", ()))

    def check(value: Any, old: Any, path: str, errors: list[FieldError]) -> None:
        before = old if isinstance(old, dict) else _NOTHING
        errors += properties_errors(rules, len(value), path)
        for name, item in value.items():
            field = known.get(name)
            if field is not None:
                field(item, before.get(name, UNKNOWN), f"{path}.{name}" if path else name, errors)
            elif additional is not None:
                additional(item, before.get(name, UNKNOWN), f"{path}.{name}", errors)
        errors += (missing(f"{path}.{name}") for name in required if name not in value)

    return check


def _items(schema: Mapping[str, Any], rules: Rules) -> Check:
    """The check of the items of a list, then of their number. Items of list maps have an old value by key."""
    item_check = compile_check(schema["items"]) if "items" in schema else None
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))

    def check(value: Any, old: Any, path: str, errors: list[FieldError]) -> None:
        before = by_keys(old, keys) if keys else {}
        if item_check is not None:
            for position, item in enumerate(value):
                item_check(item, before.get(keys_of(item, keys), UNKNOWN), f"{path}[{position}]", errors)
        errors += items_errors(rules, len(value), path)

    return check
