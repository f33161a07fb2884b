"""Numbers out of text as Go's `strconv` reads them: ASCII digits alone, and a bound on the value.

Python's `int()` takes digits of all scripts, refuses more than 4,300 of them with an error of its own, and
takes quadratic time below that; nothing that a client sends may reach it unchecked.
"""

from __future__ import annotations

from apiserver.machinery.gotext import quote

_MAX_DIGITS = 20
"""Digits of the largest uint64."""


def parse_unsigned(text: str) -> int:
    """A decimal uint64. Raises ValueError with Go's words."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: invalid syntax")
    digits = text.lstrip("0")
    value = int(digits or "0") if len(digits) <= _MAX_DIGITS else 1 << 64
    if value >= 1 << 64:
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return value
