"""Timestamps in metadata: RFC 3339, whole seconds, UTC, as `metav1.Time` reads and writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from apiserver.machinery.codec.gotext import quote

_CANONICAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_ELEMENTS = (
    ("2006", re.compile(r"[0-9]{4}")),
    ("-", re.compile("-")),
    ("01", re.compile(r"[0-9]{2}")),
    ("-", re.compile("-")),
    ("02", re.compile(r"[0-9]{2}")),
    ("T", re.compile("T")),
    ("15", re.compile(r"[0-9]{2}")),
    (":", re.compile(":")),
    ("04", re.compile(r"[0-9]{2}")),
    (":", re.compile(":")),
    ("05", re.compile(r"[0-9]{2}(?:[.,][0-9]+)?")),
    ("Z07:00", re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}")),
)


def canonical_time(text: str) -> str:
    """The timestamp in UTC and whole seconds. Raises ValueError with Go's words."""
    rest = text
    for name, pattern in _ELEMENTS:
        match = pattern.match(rest)
        if match is None:
            where = f"cannot parse {quote(rest)} as {quote(name)}"
            raise ValueError(f"parsing time {quote(text)} as {quote(_LAYOUT)}: {where}")
        rest = rest[match.end() :]
    if rest:
        raise ValueError(f"parsing time {quote(text)}: extra text: {quote(rest)}")
    try:
        moment = datetime.fromisoformat(re.sub(r"[.,][0-9]+", "", text)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"parsing time {quote(text)}: {_out_of_range(str(error))}") from None
    return text if _CANONICAL.fullmatch(text) else f"{moment:%Y-%m-%dT%H:%M:%SZ}".zfill(20)


def _out_of_range(error: str) -> str:
    first = error.partition(" ")[0]
    part = first if first in ("month", "day", "hour", "minute", "second") else "time"
    return f"{part} out of range"
