"""The syntax of label keys and values. Texts are those of `k8s.io/apimachinery/pkg/api/validate/content`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.machinery import field
from apiserver.machinery.field import FieldError, Path

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_NAME})?"
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_MAX_NAME = 63
_MAX_DOMAIN = 253

_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_VALUE}')"
)
_DOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{_DOMAIN}')"
)


def label_errors(path: Path, labels: Mapping[str, Any]) -> Iterator[FieldError]:
    """What is wrong with a map of labels, or with a selector by equality."""
    for key, value in labels.items():
        for problem in qualified_name_problems(key):
            yield field.invalid(path, key, problem)
        if not isinstance(value, str):
            yield field.invalid(path.key(key), value, "must be a string")
            continue
        for problem in label_value_problems(value):
            yield field.invalid(path.key(key), value, problem)


def qualified_name_problems(value: str) -> list[str]:
    """What keeps a string from being a name with an optional domain in front, such as a label key."""
    if value.count("/") > 1:
        return [
            f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    domain, slash, name = value.rpartition("/")
    problems = [f"prefix part {problem}" for problem in _domain_problems(domain)] if slash else []
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > _MAX_NAME:
        problems.append(f"name part must be no more than {_MAX_NAME} bytes")
    if not re.fullmatch(_NAME, name):
        problems.append(f"name part {_NAME_TEXT}")
    return problems


def label_value_problems(value: str) -> list[str]:
    """What keeps a string from being the value of a label."""
    problems = [f"must be no more than {_MAX_NAME} bytes"] if len(value) > _MAX_NAME else []
    if not re.fullmatch(_VALUE, value):
        problems.append(_VALUE_TEXT)
    return problems


def _domain_problems(domain: str) -> list[str]:
    if not domain:
        return ["must be non-empty"]
    problems = [f"must be no more than {_MAX_DOMAIN} bytes"] if len(domain) > _MAX_DOMAIN else []
    if not re.fullmatch(_DOMAIN, domain):
        problems.append(_DOMAIN_TEXT)
    return problems
