"""Which strings are names, label keys and label values, in the words of Kubernetes; how a name is generated.

Each check returns the reasons why the value is wrong, as `k8s.io/apimachinery` words them; none means right.
Knows nothing of objects.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from functools import lru_cache

NameCheck = Callable[[str, bool], list[str]]
"""Checks a name; the second argument says that something will be appended to it."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = f"{_LABEL}(\\.{_LABEL})*"
_KEY_CHAR = "[A-Za-z0-9]"
_KEY = f"({_KEY_CHAR}[-A-Za-z0-9_.]*)?{_KEY_CHAR}"
_VALUE = f"({_KEY})?"
_LABEL_RE, _SUBDOMAIN_RE = re.compile(_LABEL), re.compile(_SUBDOMAIN)
_KEY_RE, _VALUE_RE = re.compile(_KEY), re.compile(_VALUE)

_ENDS = "must start and end with an alphanumeric character"
_LABEL_TEXT = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ENDS}"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"and {_ENDS}"
)
_KEY_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}"
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"and {_ENDS}"
)

_MAX_SUBDOMAIN, _MAX_LABEL = 253, 63
_MAX_BASE, _SUFFIX_LENGTH = 58, 5
_MAX_MATCHED = 4096
"""Longer texts are too long for anything; the patterns are not tried on them, to spare the memory."""
_SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def dns_subdomain(name: str, prefix: bool = False, *, unit: str = "characters") -> list[str]:
    """Names of most objects: RFC 1123 subdomains."""
    name = _mask_trailing_dash(name) if prefix else name
    errors = [_too_long(_MAX_SUBDOMAIN, unit)] if len(name.encode()) > _MAX_SUBDOMAIN else []
    if not _matches(_SUBDOMAIN_RE, name):
        errors.append(_regex_text(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return errors


def dns_label(name: str, prefix: bool = False) -> list[str]:
    """Names of namespaces: RFC 1123 labels."""
    name = _mask_trailing_dash(name) if prefix else name
    errors = [_too_long(_MAX_LABEL, "characters")] if len(name.encode()) > _MAX_LABEL else []
    if not _matches(_LABEL_RE, name):
        dotted = _matches(_SUBDOMAIN_RE, name)
        errors.append(
            "must not contain dots" if dotted else _regex_text(_LABEL_TEXT, _LABEL, "my-name", "123-abc")
        )
    return errors


def label_key(key: str) -> list[str]:
    """Keys of labels, annotations (in lower case) and names of finalizers: `[subdomain/]name`."""
    if len(key) <= _MAX_LABEL and _matches_short(_KEY_RE, key):
        return []
    parts = key.split("/")
    if len(parts) > 2:
        text = _regex_text(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc")
        suffix = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {text}{suffix}"]
    errors: list[str] = []
    name = parts[-1]
    if len(parts) == 2:
        reasons = dns_subdomain(parts[0], unit="bytes") if parts[0] else ["must be non-empty"]
        errors += [f"prefix part {reason}" for reason in reasons]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_LABEL:
        errors.append(f"name part {_too_long(_MAX_LABEL, 'bytes')}")
    if not _matches(_KEY_RE, name):
        errors.append(f"name part {_regex_text(_KEY_TEXT, _KEY, 'MyName', 'my.name', '123-abc')}")
    return errors


def label_value(value: str) -> list[str]:
    """Values of labels."""
    errors = [_too_long(_MAX_LABEL, "bytes")] if len(value.encode()) > _MAX_LABEL else []
    if not _matches(_VALUE_RE, value):
        errors.append(_regex_text(_VALUE_TEXT, _VALUE, "MyValue", "my_value", "12345"))
    return errors


def generate_name(base: str) -> str:
    """A name from `generateName`: the base, cut to 58 characters, and 5 random ones."""
    return base[:_MAX_BASE] + "".join(secrets.choice(_SAFE_ALPHABET) for _ in range(_SUFFIX_LENGTH))


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    if len(text) <= _MAX_SUBDOMAIN:
        return _matches_short(pattern, text)
    return len(text) > _MAX_MATCHED or pattern.fullmatch(text) is not None


@lru_cache(maxsize=8192)
def _matches_short(pattern: re.Pattern[str], text: str) -> bool:
    # The same few keys, prefixes and namespaces come with every object.
    return pattern.fullmatch(text) is not None


def _mask_trailing_dash(name: str) -> str:
    """A prefix may end in a dash, as something follows it. (Upstream cuts two characters and adds one.)"""
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name


def _too_long(length: int, unit: str) -> str:
    return f"must be no more than {length} {unit}"


def _regex_text(message: str, regex: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {listed}regex used for validation is '{regex}')"
