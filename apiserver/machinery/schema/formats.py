"""The string formats that CRDs check. Other formats are documentation and check nothing.

Source: kube-openapi/pkg/validation/strfmt and the list in
apiextensions-apiserver/pkg/apiserver/validation/formats.go. Formats that no type of ours could want
(credit cards, ISBN) are missing on purpose: declaring one is an error.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from urllib.parse import urlsplit

_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII)
_USUAL_DATE_TIME = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z"
)
"""What servers write on the first 28 days of a month; the rest takes the long way."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BASE64 = re.compile(
    r"(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})"
)
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SHORT_NAME = re.compile(_LABEL)
_LONG_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_HOSTNAME = re.compile(
    r"([^\W_](-?[^\W_]{0,62})?|([^\W_](([^\W_]|-){0,61}[^\W_])?\.)+[^\W\d_]{2,63})", re.UNICODE
)
_GO_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_UNITS = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)
_LOOSE_DURATION = re.compile(r"[0-9]+\s*([A-Za-zµ]+)")


def is_date(text: str) -> bool:
    """A full-date of RFC 3339."""
    if not _DATE.fullmatch(text):
        return False
    if text.startswith("0000"):
        text = f"0004{text[4:]}"
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """A date-time of RFC 3339, as loosely as kube-openapi reads it: leap seconds no, offsets unchecked."""
    if _USUAL_DATE_TIME.fullmatch(text):
        return True
    day, separator, rest = text.lower().partition("t")
    match = _TIME.fullmatch(rest.partition("t")[0]) if separator else None
    if match is None or not is_date(day):
        return False
    return match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def is_duration(text: str) -> bool:
    """A duration of Go (`1h30m`) or of Scala (`2 days`)."""
    if _GO_DURATION.fullmatch(text):
        return True
    return any(_is_unit(match[1].strip().lower()) for match in _LOOSE_DURATION.finditer(text))


def _is_unit(word: str) -> bool:
    return any(word in names or word.startswith(names[-1]) for names in _UNITS)


def is_uri(text: str) -> bool:
    """An absolute URI or an absolute path."""
    if any(ord(char) < 0x21 or ord(char) == 0x7F for char in text):
        return False
    try:
        return text.startswith("/") or bool(urlsplit(text).scheme)
    except ValueError:
        return False


def is_ipv4(text: str) -> bool:
    """A dotted address; leading zeros are tolerated."""
    parts = text.split(".")
    return len(parts) == 4 and all(_is_at_most(part, 255) for part in parts)


def is_ipv6(text: str) -> bool:
    """An address of IP version 6, without a zone."""
    try:
        return ":" in text and "%" not in text and bool(ipaddress.IPv6Address(text))
    except ValueError:
        return False


def is_cidr(text: str) -> bool:
    """An address, a slash and a prefix length."""
    address, slash, length = text.partition("/")
    if not slash:
        return False
    return (is_ipv4(address) and _is_at_most(length, 32)) or (is_ipv6(address) and _is_at_most(length, 128))


def _is_at_most(text: str, limit: int) -> bool:
    """Whether a text is a whole number up to a limit below 1,000; however many digits it has."""
    digits = text.lstrip("0")[:4]
    return text.isascii() and text.isdigit() and int(digits or "0") <= limit


def is_hostname(text: str) -> bool:
    """A host name of RFC 1034, with letters of any script."""
    return bool(_HOSTNAME.fullmatch(text)) and len(text.encode()) <= 255


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE | re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


_HEX = "[0-9a-f]"
FORMATS: dict[str, Callable[[str], bool]] = {
    "datetime": is_date_time,
    "date": is_date,
    "duration": is_duration,
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "uri": is_uri,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidr": is_cidr,
    "hostname": is_hostname,
    "password": lambda _text: True,
    "uuid": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid4": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?[89ab]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "k8sshortname": lambda text: len(text) <= 63 and _SHORT_NAME.fullmatch(text) is not None,
    "k8slongname": lambda text: len(text) <= 253 and _LONG_NAME.fullmatch(text) is not None,
}
"""Checks by format name without dashes."""
UNSUPPORTED = frozenset(
    (
        *("bsonobjectid", "email", "mac", "uuid3", "uuid5", "isbn", "isbn10", "isbn13"),
        *("creditcard", "ssn", "hexcolor", "rgbcolor"),
    )
)
"""Formats that CRDs check and we do not."""
