"""The limits on one value, and every error that breaking them gives, in the words of kube-openapi.

Source: kube-openapi/pkg/validation/validate (type, string, format, number, common validators, in this order)
and the translation of its errors in apiextensions-apiserver/pkg/apiserver/validation/validation.go. All
limits are checked even when the type is wrong, as there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apiserver.machinery import gotext
from apiserver.machinery.field import FieldError, Path, required, too_long, too_many
from apiserver.machinery.schema.formats import FORMATS, UNSUPPORTED

NOWHERE = "<nil>"
"""The path of errors that are about no field."""
_INT64_MAX = 2**63 - 1
_INT32_MAX = 2**31 - 1
_WHOLE_LIMIT = 2**53
_WHOLE_EPSILON = 1e-9
_FLOAT32_MAX = 3.4028235677973366e38
_NUMERIC_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


@dataclass(frozen=True, slots=True)
class Rules:
    """What a schema says of the value itself, apart from fields and items."""

    types: tuple[str, ...] = ()
    nullable: bool = False
    format: str = ""
    enum: tuple[Any, ...] | None = None
    pattern: str = ""
    matches: Callable[[str], Any] | None = None
    min_length: int | None = None
    max_length: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    repeats_types: bool = False
    """anyOf integer and string beside x-kubernetes-int-or-string, as generated CRDs have it."""

    @property
    def bounds_numbers(self) -> bool:
        """Whether numbers are limited in any way but their type."""
        return not (self.minimum is None and self.maximum is None and self.multiple_of is None)

    @property
    def bounds_strings(self) -> bool:
        """Whether strings are limited in any way but their type."""
        return not (self.min_length is None and self.max_length is None and not self.pattern) or bool(
            self.format
        )


def rules_of(schema: Mapping[str, Any]) -> Rules:
    """Read the limits from a structural schema. Raises TypeError for keywords that are not supported."""
    for keyword in ("allOf", "anyOf", "oneOf", "not", "uniqueItems", "x-kubernetes-validations"):
        if schema.get(keyword) and not _is_int_or_string_any_of(schema, keyword):
            raise TypeError(f"the schema keyword {keyword} is not supported")
    types: tuple[str, ...] = (schema["type"],) if schema.get("type") else ()
    if schema.get("x-kubernetes-int-or-string"):
        types = ("integer", "string")
    pattern = schema.get("pattern", "")
    enum = schema.get("enum")
    form = _checked_format(schema)
    return Rules(
        types=types,
        nullable=bool(schema.get("nullable")),
        format=form,
        enum=tuple(enum) if enum else None,
        pattern=pattern,
        matches=go_pattern(pattern).search if pattern else None,
        min_length=schema.get("minLength"),
        max_length=schema.get("maxLength"),
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        exclusive_minimum=bool(schema.get("exclusiveMinimum")),
        exclusive_maximum=bool(schema.get("exclusiveMaximum")),
        multiple_of=schema.get("multipleOf"),
        min_items=schema.get("minItems"),
        max_items=schema.get("maxItems"),
        min_properties=schema.get("minProperties"),
        max_properties=schema.get("maxProperties"),
        repeats_types="anyOf" in schema,
    )


def _is_int_or_string_any_of(schema: Mapping[str, Any], keyword: str) -> bool:
    """The one combination that generated CRDs carry says what x-kubernetes-int-or-string says already."""
    both = [{"type": "integer"}, {"type": "string"}]
    return keyword == "anyOf" and bool(schema.get("x-kubernetes-int-or-string")) and schema["anyOf"] == both


def _checked_format(schema: Mapping[str, Any]) -> str:
    form: str = schema.get("format", "")
    kind = schema.get("type", "")
    if kind in _NUMERIC_FORMATS:
        return form if form in _NUMERIC_FORMATS[kind] else ""
    if kind not in ("", "string"):
        return ""
    normal = form.replace("-", "")
    if normal in UNSUPPORTED:
        raise TypeError(f"the format {form} is not supported")
    return form if normal in FORMATS else ""


def go_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of Go: `$` is only the very end, and classes such as \\d are ASCII."""
    parts = re.split(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])", pattern)
    plain = (part.replace("$", r"\Z") if position % 2 == 0 else part for position, part in enumerate(parts))
    return re.compile("".join(plain), re.ASCII)


def json_type(value: Any) -> tuple[str, str]:
    """The JSON type of a value and, for numbers, the format in which Go holds it."""
    if value is None:
        return "null", ""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, str):
        return "string", ""
    if isinstance(value, int):
        return ("integer", "int64") if -_INT64_MAX - 1 <= value <= _INT64_MAX else ("number", "float64")
    if isinstance(value, float):
        return "number", "float64"
    return ("array", "") if isinstance(value, list) else ("object", "")


def is_whole(value: float) -> bool:
    """Whether a number may stand for an integer, such as 2.0; JSON's integers end at 2**53, and a billionth
    is taken for a rounding error.
    """
    if abs(value) >= _WHOLE_LIMIT:
        return False
    cut = math.trunc(value)
    return value == cut or (cut != 0 and abs(value - cut) / (abs(value) + abs(cut)) < _WHOLE_EPSILON)


def value_errors(rules: Rules, value: Any, path: str) -> list[FieldError]:
    """Every error of the value itself, without those of its fields, items and their number."""
    errors = type_errors(rules, value, path)
    if errors and rules.repeats_types:
        detail = f"{gotext.quote(path)} must validate at least one schema (anyOf)"
        errors.append(FieldError("FieldValueInvalid", NOWHERE, detail, ""))
        errors.append(_type_error(path, "integer", json_type(value)[0]))
    if isinstance(value, str):
        errors += _string_errors(rules, value, path)
        errors += _format_errors(rules, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        errors += _number_errors(rules, value, path)
    return errors


def type_errors(rules: Rules, value: Any, path: str) -> list[FieldError]:
    """The error of a value that has another type than the schema wants; at most one."""
    kind, form = json_type(value)
    types = rules.types
    if value is None:
        return [_type_error(path, ",".join(types), kind)] if types and not rules.nullable else []
    if not types:
        return []
    fits = (
        kind in types
        or (kind == "number" and "integer" in types and is_whole(value))
        or (kind == "integer" and "number" in types)
    )
    if fits:
        return []
    if rules.format and kind not in ("string", "array"):
        return [_type_error(path, rules.format, form)]
    return [_type_error(path, ",".join(types), kind)]


def _type_error(path: str, wanted: str, found: str) -> FieldError:
    detail = f"{path} in body must be of type {wanted}: {gotext.quote(found)}"
    return FieldError("FieldValueTypeInvalid", path_text(path), detail, found)


def path_text(path: str) -> str:
    """The path as it is reported: the root has none."""
    return path.removeprefix(".") or NOWHERE


def broken(path: str, value: Any, rest: str) -> FieldError:
    """An error whose text is a sentence about `path in body`."""
    return FieldError("FieldValueInvalid", path_text(path), f"{path} in body {rest}", value)


def missing(path: str) -> FieldError:
    """A required field is not there."""
    return required(Path(path_text(path)))


def _string_errors(rules: Rules, value: str, path: str) -> list[FieldError]:
    """The first thing wrong with a string."""
    if rules.max_length is not None and len(value) > rules.max_length:
        return [too_long(Path(path_text(path)), rules.max_length)]
    if rules.min_length is not None and len(value) < rules.min_length:
        return [broken(path, value, f"should be at least {rules.min_length} chars long")]
    if rules.matches is not None and not rules.matches(value):
        return [broken(path, value, f"should match '{rules.pattern}'")]
    return []


def _format_errors(rules: Rules, value: str, path: str) -> list[FieldError]:
    check = FORMATS.get(rules.format.replace("-", ""))
    if check is None or check(value):
        return []
    detail = f"{path} in body must be of type {rules.format}: {gotext.quote(value)}"
    return [FieldError("FieldValueTypeInvalid", path_text(path), detail, value)]


def _number_errors(rules: Rules, value: float, path: str) -> list[FieldError]:
    """Range of the type, then multiple, maximum, minimum."""
    errors: list[FieldError] = []
    if not in_range(rules, value):
        form = f" with format {rules.format}" if rules.format else " (default format)"
        detail = f"Checked value must be of type {rules.types[0]}{form} in {path}"
        errors.append(FieldError("FieldValueInvalid", NOWHERE, detail, ""))
    held = value if json_type(value)[0] == "integer" else float(value)
    if rules.multiple_of is not None:
        errors += _multiple_errors(held, rules.multiple_of, path)
    if rules.maximum is not None and not _below(held, _native(held, rules.maximum), rules.exclusive_maximum):
        words = "less than" if rules.exclusive_maximum else "less than or equal to"
        errors.append(broken(path, held, f"should be {words} {_bound(held, rules.maximum)}"))
    if rules.minimum is not None and not _below(_native(held, rules.minimum), held, rules.exclusive_minimum):
        words = "greater than" if rules.exclusive_minimum else "greater than or equal to"
        errors.append(broken(path, held, f"should be {words} {_bound(held, rules.minimum)}"))
    return errors


def in_range(rules: Rules, value: float) -> bool:
    """Whether the type and format of the schema can hold the number."""
    if rules.types == ("integer",):
        if isinstance(value, float) and not value.is_integer():
            return False
        limit = _INT32_MAX if rules.format == "int32" else _INT64_MAX
        return -limit - 1 <= value <= limit
    return not (rules.types == ("number",) and rules.format == "float" and abs(value) >= _FLOAT32_MAX)


def _native(value: float, bound: float) -> float:
    """Integers are compared with the bound cut to an integer."""
    return int(bound) if isinstance(value, int) else bound


def _bound(value: float, bound: float) -> str:
    return gotext.number(_native(value, bound))


def _below(low: float, high: float, exclusive: bool) -> bool:
    return low < high if exclusive else low <= high


def _multiple_errors(value: float, factor: float, path: str) -> list[FieldError]:
    """Integers are measured with the factor cut to an integer, which must leave something of it."""
    if isinstance(value, int) and int(factor) == 0:
        detail = f"factor MultipleOf declared for {path} must be positive: 0"
        return [FieldError("FieldValueInvalid", path_text(path), detail, 0)]
    if isinstance(value, int):
        fits = value % int(factor) == 0
    else:
        fits = is_whole(1 / factor * value if factor < 1 else value / factor)
    return [] if fits else [broken(path, value, f"should be a multiple of {_bound(value, factor)}")]


def enum_errors(rules: Rules, value: Any, path: str) -> list[FieldError]:
    """The error of a value outside of the enumeration."""
    if rules.enum is None or any(_equal(value, allowed) for allowed in rules.enum):
        return []
    listed = [allowed if isinstance(allowed, str) else gotext.to_json(allowed) for allowed in rules.enum]
    detail = f"supported values: {', '.join(map(gotext.quote, listed))}"
    return [FieldError("FieldValueNotSupported", path_text(path), detail, value)]


def _equal(value: Any, allowed: Any) -> bool:
    return (
        value is not None and isinstance(value, bool) == isinstance(allowed, bool) and bool(value == allowed)
    )


def items_errors(rules: Rules, size: int, path: str) -> list[FieldError]:
    """Errors of the number of items of a list."""
    errors = []
    if rules.min_items is not None and size < rules.min_items:
        errors.append(broken(path, size, f"should have at least {rules.min_items} items"))
    if rules.max_items is not None and size > rules.max_items:
        errors.append(too_many(Path(path_text(path)), size, rules.max_items))
    return errors


def properties_errors(rules: Rules, size: int, path: str) -> list[FieldError]:
    """Errors of the number of entries of an object."""
    errors = []
    if rules.min_properties is not None and size < rules.min_properties:
        errors.append(broken(path, size, f"should have at least {rules.min_properties} properties"))
    if rules.max_properties is not None and size > rules.max_properties:
        errors.append(too_many(Path(path_text(path)), size, rules.max_properties))
    return errors
