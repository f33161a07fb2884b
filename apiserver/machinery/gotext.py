"""Values as Go prints them: messages of API servers were made by Go's fmt and json, and clients compare them.

Source: strconv.Quote, fmt's %v of float64 and encoding/json, with the escapes that
json.Marshal adds for HTML.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}
_HTML = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def quote(text: str) -> str:
    """The text in double quotes, as %q prints it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escape, text))}"'


def quote_byte(code: int) -> str:
    """A byte in single quotes, as the JSON scanner of Go names the character that it stumbled over."""
    char = chr(code)
    if char == "'":
        return "'\\''"
    return "'\"'" if char == '"' else f"'{_escape(char)}'"


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """A number as %v prints it; for floats: an exponent from 1e6 on and below 1e-4."""
    if isinstance(value, int):
        return str(value)
    exact = Decimal(repr(value)).normalize()
    if not value or -4 <= exact.adjusted() < 6:
        return format(exact, "f")
    mantissa, _, exponent = f"{exact:e}".partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:]:0>2}"


class Struct(dict[str, Any]):
    """A Go struct: its fields are written in the order in which they are here, those of a map sorted."""


def to_json(value: Any) -> str:
    """The value as encoding/json writes it: compact, keys of maps sorted, `<`, `>` and `&` escaped."""
    if isinstance(value, dict):
        keys = value if isinstance(value, Struct) else sorted(value)
        members = (f"{to_json(key)}:{to_json(value[key])}" for key in keys)
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(to_json, value))}]"
    if isinstance(value, float):
        return _json_float(value)
    return json.dumps(value, ensure_ascii=False).translate(_HTML)


def _json_float(value: float) -> str:
    exact = Decimal(repr(value)).normalize()
    if not value or 1e-6 <= abs(value) < 1e21:
        return format(exact, "f")
    return f"{exact:e}"


def plain(value: Any) -> str:
    """The value as %v prints it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{' '.join(map(plain, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    if value is None:
        return "<nil>"
    return show(value)


_GO_TYPES = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def go_type(value: Any) -> str:
    """The type that a JSON value has in Go, as %T prints it."""
    return _GO_TYPES.get(type(value), "<nil>")


def show(value: Any) -> str:
    """A value as field errors show it."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return number(value)
    return to_json(value)
