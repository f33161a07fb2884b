"""How Go prints strings and bytes in its error texts, which clients and tests compare.

Source: `strconv.Quote` and the `quoteChar` of Go's `encoding/json`. Knows nothing of JSON or of Kubernetes.
"""

from __future__ import annotations

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """The text as `strconv.Quote` (`%q`) gives it, double quotes included."""
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
    code = ord(char)
    if char == " " or (char.isprintable() and not char.isspace()):
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
