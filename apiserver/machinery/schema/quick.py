"""A quick test of whole objects: true only of valid ones, and cheap for the usual ones.

Whatever fails it is looked at again by the complete check, which knows the words for what is wrong and what
an update left alone. A test that is too strict costs time and nothing else; one that is too lenient would be
a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.machinery.schema.formats import FORMATS
from apiserver.machinery.schema.rules import (
    Rules,
    enum_errors,
    items_errors,
    properties_errors,
    rules_of,
    value_errors,
)

Quick = Callable[[Any], Any]
"""Takes a value; the answer is true or false in the sense of Python."""

_INT64 = (-(2**63), 2**63 - 1)
_INT32 = (-(2**31), 2**31 - 1)


def compile_quick(schema: Mapping[str, Any]) -> Quick:
    """The quick test of values of this schema."""
    rules = rules_of(schema)
    if schema.get("x-kubernetes-embedded-resource"):
        return lambda _value: False
    if rules.types == ("object",) and rules.enum is None:
        return _quick_object(schema, rules)
    if rules.types == ("array",) and rules.enum is None:
        return _quick_list(schema, rules)
    if not rules.types and schema.keys() <= {
        "x-kubernetes-preserve-unknown-fields",
        "nullable",
        "description",
    }:
        return lambda _value: True
    return _quick_scalar(rules)


def _quick_object(schema: Mapping[str, Any], rules: Rules) -> Quick:
    properties = schema.get("properties", {})
    tests: dict[str, Quick] = {
        name: str if _is_plain(value) else compile_quick(value) for name, value in properties.items()
    }
    extra = schema.get("additionalProperties")
    required = tuple(schema.get("required", ()))
    counted = not (rules.min_properties is None and rules.max_properties is None)
    rest = compile_quick(extra) if isinstance(extra, Mapping) else None
    if rest is not None and not properties and not required and not counted:
        return _quick_map(rest, plain=_is_plain(extra))

    def test(value: Any) -> bool:
        if value.__class__ is not dict or (counted and properties_errors(rules, len(value), "")):
            return False
        for name, item in value.items():
            known = tests.get(name, rest)
            if known is str:  # in place of a test: any string will do
                if item.__class__ is not str:
                    return False
            elif known is not None and not known(item):
                return False
        return not required or all(map(value.__contains__, required))

    return test


def _is_plain(schema: Any) -> bool:
    """Whether every string is valid: that saves a call for each field."""
    rules = rules_of(schema)
    return rules.types == ("string",) and rules.enum is None and not rules.bounds_strings


def _quick_map(rest: Quick, *, plain: bool) -> Quick:
    def test(value: Any) -> bool:
        if value.__class__ is not dict:
            return False
        return all((plain and item.__class__ is str) or rest(item) for item in value.values())

    return test


def _quick_list(schema: Mapping[str, Any], rules: Rules) -> Quick:
    items = schema.get("items")
    known = compile_quick(items) if items is not None else None
    plain = items is not None and _is_plain(items)
    unique = _quick_uniqueness(schema)
    counted = not (rules.min_items is None and rules.max_items is None)

    def test(value: Any) -> bool:
        if value.__class__ is not list or (counted and items_errors(rules, len(value), "")):
            return False
        if known is not None:
            for item in value:
                if not (plain and item.__class__ is str) and not known(item):
                    return False
        return unique is None or len(value) < 2 or unique(value)

    return test


def _quick_uniqueness(schema: Mapping[str, Any]) -> Quick | None:
    """Strings and integers are compared at once; other values are left to the complete check."""
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        return _distinct
    if kind != "map":
        return None
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    if len(keys) > 1:
        return lambda value: _distinct([str([item.get(key) for key in keys]) for item in value])
    only = keys[0]
    return lambda value: _distinct([item.get(only) for item in value])


def _distinct(values: list[Any]) -> bool:
    for value in values:
        if value.__class__ is not str and value.__class__ is not int:
            return False
    return len(set(values)) == len(values)


def _quick_scalar(rules: Rules) -> Quick:
    if rules.enum is not None:
        return _quick_enum(rules)
    if rules.types == ("string",):
        return _quick_string(rules)
    if rules.types == ("integer",) and rules.multiple_of is None:
        return _quick_integer(rules)
    if rules.types == ("boolean",):
        return lambda value: value.__class__ is bool
    if rules.types == ("integer", "string") and not rules.bounds_numbers:
        return _quick_integer_or(_quick_string(rules))
    return _complete(rules)


def _complete(rules: Rules) -> Quick:
    def test(value: Any) -> bool:
        scalar = value is not None and value.__class__ is not dict and value.__class__ is not list
        return scalar and not value_errors(rules, value, "") and not enum_errors(rules, value, "")

    return test


def _quick_enum(rules: Rules) -> Quick:
    if rules.types != ("string",) or rules.bounds_strings:
        return _complete(rules)
    allowed = frozenset(value for value in rules.enum or () if isinstance(value, str))
    return lambda value: value.__class__ is str and value in allowed


def _quick_string(rules: Rules) -> Quick:
    """One closure for each usual combination of limits."""
    low, high = rules.min_length or 0, rules.max_length
    shaped: Quick | None = rules.matches
    if rules.format:
        shaped = _both(shaped, FORMATS[rules.format.replace("-", "")])
    if high is None:
        if shaped is None:
            return lambda value: value.__class__ is str and len(value) >= low
        look = shaped
        return lambda value: value.__class__ is str and len(value) >= low and look(value)
    limit = high
    if shaped is None:
        return lambda value: value.__class__ is str and low <= len(value) <= limit
    look = shaped
    return lambda value: value.__class__ is str and low <= len(value) <= limit and look(value)


def _both(first: Quick | None, second: Quick) -> Quick:
    return second if first is None else lambda value: first(value) and second(value)


def _quick_integer(rules: Rules) -> Quick:
    low, high = _INT32 if rules.format == "int32" else _INT64
    if rules.minimum is not None:
        low = max(low, int(rules.minimum) + (1 if rules.exclusive_minimum else 0))
    if rules.maximum is not None:
        high = min(high, int(rules.maximum) - (1 if rules.exclusive_maximum else 0))
    return lambda value: value.__class__ is int and low <= value <= high


def _quick_integer_or(text: Quick) -> Quick:
    low, high = _INT64

    def test(value: Any) -> Any:
        return text(value) if value.__class__ is str else value.__class__ is int and low <= value <= high

    return test
