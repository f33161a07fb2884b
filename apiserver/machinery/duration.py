"""Durations in Go's notation (`300ms`, `1h30m`), which flags and query parameters of Kubernetes use.

Texts of errors are those of Go's `time.ParseDuration`, because clients see them.
"""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)", re.ASCII)
_MAX_SECONDS = (2**63 - 1) / 1e9


def parse_duration(text: str) -> float:
    """Seconds of a duration. Raises ValueError with the text that Go gives."""
    rest = text[1:] if text[:1] in {"+", "-"} else text
    sign = -1.0 if text.startswith("-") else 1.0
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f'time: invalid duration "{text}"')
    total = 0.0
    position = 0
    while position < len(rest):
        match = _PART.match(rest, position)
        if match is None:
            raise ValueError(f'time: invalid duration "{text}"')
        if not match[2]:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if match[2] not in _UNITS:
            raise ValueError(f'time: unknown unit "{match[2]}" in duration "{text}"')
        total += float(match[1]) * _UNITS[match[2]]
        position = match.end()
    if total > _MAX_SECONDS:
        raise ValueError(f'time: invalid duration "{text}"')
    return sign * total
