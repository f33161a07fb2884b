"""Validation: a schema becomes closures that pass over a valid object quickly and tell every error of a bad
one.

Source: kube-openapi/pkg/validation/validate (object, slice and schema validators). kube-apiserver reports the
fields of an object in random order; here they come in the order of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.machinery.field import FieldError
from apiserver.machinery.schema.quick import plain_type, quick_test
from apiserver.machinery.schema.ratchet import UNKNOWN, by_keys, key_text, same
from apiserver.machinery.schema.rules import (
    Rules,
    enum_errors,
    items_errors,
    missing,
    properties_errors,
    rules_of,
    type_errors,
    value_errors,
)

Check = Callable[[Any, Any, str, str, list[FieldError]], None]
"""Takes a value, the old value or UNKNOWN, the path of the parent, what it adds to that, and the list of
errors.
"""
Contents = Callable[[Any, Any, str, list[FieldError]], None]
"""Checks what is inside of a dict or list at a path."""


def compile_check(schema: Mapping[str, Any]) -> Check:
    """The check of values of this schema. Raises TypeError for keywords that are not supported."""
    rules = rules_of(schema)
    fields = _fields(schema, rules)
    items = _items(schema, rules)
    if rules.types == ("object",):
        return _container(dict, fields, _fallback(schema, rules, fields, items), schema, rules)
    if rules.types == ("array",):
        return _container(list, items, _fallback(schema, rules, fields, items), schema, rules)
    slow = _fallback(schema, rules, fields, items)
    quick = quick_test(rules)

    def check(value: Any, old: Any, parent: str, suffix: str, errors: list[FieldError]) -> None:
        if not quick(value):
            slow(value, old, parent, suffix, errors)

    return check


def _container(kind: type, contents: Contents, slow: Check, schema: Mapping[str, Any], rules: Rules) -> Check:
    """The check of an object or a list; anything else, and any enumeration, takes the slow way."""
    if rules.enum is not None:
        return slow

    def check(value: Any, old: Any, parent: str, suffix: str, errors: list[FieldError]) -> None:
        if value.__class__ is not kind:
            slow(value, old, parent, suffix, errors)
            return
        start = len(errors)
        contents(value, old, parent + suffix, errors)
        if len(errors) > start and old is not UNKNOWN and same(value, old, schema):
            del errors[start:]

    return check


def _fallback(schema: Mapping[str, Any], rules: Rules, fields: Contents, items: Contents) -> Check:
    """The complete check, in the order in which kube-apiserver reports."""

    def check(value: Any, old: Any, parent: str, suffix: str, errors: list[FieldError]) -> None:
        path = parent + suffix
        start = len(errors)
        if value is None:
            errors += type_errors(rules, value, path)
        else:
            errors += value_errors(rules, value, path)
        if isinstance(value, list):
            items(value, old, path, errors)
        errors += enum_errors(rules, value, path)
        if isinstance(value, dict):
            fields(value, old, path, errors)
        if len(errors) > start and old is not UNKNOWN and same(value, old, schema):
            del errors[start:]

    return check


def _fields(schema: Mapping[str, Any], rules: Rules) -> Contents:
    """The check of the fields of an object: number, free keys, known fields, then what is missing."""
    known = {
        name: (plain_type(value), compile_check(value), f".{name}")
        for name, value in schema.get("properties", {}).items()
    }
    extra = schema.get("additionalProperties")
    additional = compile_check(extra) if isinstance(extra, Mapping) else None
    plain_extra = plain_type(extra) if isinstance(extra, Mapping) else None
    required = tuple(schema.get("required", ()))
    counted = not (rules.min_properties is None and rules.max_properties is None)

    def contents(value: Any, old: Any, path: str, errors: list[FieldError]) -> None:
        before = old.get if old.__class__ is dict else _no_field
        if counted:
            errors += properties_errors(rules, len(value), path)
        for name, item in value.items():
            field = known.get(name)
            if field is not None:
                plain, check, suffix = field
                if item.__class__ is not plain:
                    check(item, before(name, UNKNOWN), path, suffix if path else name, errors)
            elif additional is not None and item.__class__ is not plain_extra:
                additional(item, before(name, UNKNOWN), path, f".{name}", errors)
        for name in required:
            if name not in value:
                errors.append(missing(f"{path}.{name}"))

    return contents


def _no_field(_name: str, missing: Any) -> Any:
    return missing


def _items(schema: Mapping[str, Any], rules: Rules) -> Contents:
    """The check of the items of a list, then of their number."""
    spec = schema.get("items")
    item_check = compile_check(spec) if spec is not None else None
    plain = plain_type(spec) if spec is not None else None
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    counted = not (rules.min_items is None and rules.max_items is None)

    def contents(value: Any, old: Any, path: str, errors: list[FieldError]) -> None:
        before = by_keys(old, keys) if keys and old is not UNKNOWN else None
        if item_check is not None:
            for position, item in enumerate(value):
                if item.__class__ is not plain:
                    prior = UNKNOWN if before is None else before.get(key_text(item, keys), UNKNOWN)
                    item_check(item, prior, path, f"[{position}]", errors)
        if counted:
            errors += items_errors(rules, len(value), path)

    return contents
