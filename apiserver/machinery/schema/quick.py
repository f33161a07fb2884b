"""Quick tests of scalars: true only of valid values, and cheap for the usual ones.

Whatever fails a quick test is looked at again by the complete rules, which know the words for what is wrong;
a test that is too strict costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.machinery.schema.formats import FORMATS
from apiserver.machinery.schema.rules import Rules, enum_errors, rules_of, value_errors

Quick = Callable[[Any], Any]

_INT64 = (-(2**63), 2**63 - 1)
_INT32 = (-(2**31), 2**31 - 1)
_PLAIN: dict[tuple[str, ...], type] = {("string",): str, ("boolean",): bool}


def plain_type(schema: Mapping[str, Any]) -> type | None:
    """The Python type whose every value is valid, if there is one: it saves a call for each field."""
    rules = rules_of(schema)
    if rules.enum is not None or rules.bounds_strings:
        return None
    return _PLAIN.get(rules.types)


def quick_test(rules: Rules) -> Quick:
    """The quick test of scalars under these rules."""
    if rules.enum is not None:
        return _quick_enum(rules)
    if rules.types == ("string",):
        return _quick_string(rules) or _complete(rules)
    if rules.types == ("integer",) and rules.multiple_of is None:
        return _quick_integer(rules)
    if rules.types == ("integer", "string") and not rules.bounds_numbers:
        text = _quick_string(rules)
        if text is not None:
            return _quick_integer_or(text)
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


def _quick_string(rules: Rules) -> Quick | None:
    """One closure for each usual single limit; None for more of them together."""
    matches = rules.matches
    sized = not (rules.min_length is None and rules.max_length is None)
    if [matches is not None, bool(rules.format), sized].count(True) > 1:
        return None
    if matches is not None:
        return lambda value: value.__class__ is str and matches(value)
    if rules.format:
        check = FORMATS[rules.format.replace("-", "")]
        return lambda value: value.__class__ is str and check(value)
    low, high = rules.min_length or 0, rules.max_length
    if high is None:
        return lambda value: value.__class__ is str and len(value) >= low
    return lambda value: value.__class__ is str and low <= len(value) <= high


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
