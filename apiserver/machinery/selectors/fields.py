"""Field selectors: `metadata.name=a,status.phase!=Ready`.

Grammar, order and error texts are those of `k8s.io/apimachinery/pkg/fields`. Knows fields as a plain dict of
strings; which fields a resource has is for the caller to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from apiserver.machinery.errors import bad_request
from apiserver.machinery.selectors.bounds import ensure_length

Fields = Mapping[str, str]

_OPERATOR = re.compile("!=|==|=")
_TERMS = re.compile(r"(?:[^\\,]++|\\.)*+\\?", re.DOTALL)
_ESCAPABLE = ("\\", ",", "=")


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: the field equals (or, `negated`, does not equal) the value. A missing field is empty."""

    field: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
        return f"{self.field}{'!=' if self.negated else '='}{escaped}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All terms must hold; none match everything. `str()` is the canonical text."""

    terms: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        """Whether it excludes anything."""
        return bool(self.terms)

    def matches(self, fields: Fields) -> bool:
        """Whether an object with these fields is selected."""
        return all((fields.get(term.field, "") == term.value) != term.negated for term in self.terms)

    def predicate(self) -> Callable[[Fields], bool]:
        """`matches` as a function."""
        return self.matches if self.terms else lambda _fields: True

    def exact(self, field: str) -> str | None:
        """The value that the selector requires of a field, as `metadata.name=a` does, or None."""
        return next((term.value for term in self.terms if term.field == field and not term.negated), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


EVERYTHING = FieldSelector()


def parse_field_selector(text: str, supported: Container[str] | None = None) -> FieldSelector:
    """Read a field selector. Raises a 400 APIError when it is broken or a field is not `supported`."""
    ensure_length(text)
    terms = []
    for part in sorted(_split(text)):
        if not part:
            continue
        operator = _OPERATOR.search(part)
        if operator is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        term = Term(part[: operator.start()], _unescape(part[operator.end() :]), operator[0] == "!=")
        if not term.field and not term.value:
            continue
        if supported is not None and term.field not in supported:
            raise bad_request(f"field label not supported: {term.field}")
        terms.append(term)
    return FieldSelector(tuple(terms)) if terms else EVERYTHING


def _split(text: str) -> list[str]:
    """The terms between unescaped commas, escapes kept."""
    parts, at = [], 0
    while True:
        match = _TERMS.match(text, at)
        end = match.end() if match else len(text)
        parts.append(text[at:end])
        if end >= len(text):
            return parts
        at = end + 1


def _unescape(value: str) -> str:
    if not any(char in value for char in _ESCAPABLE):
        return value
    plain, chars = [], iter(value)
    for char in chars:
        if char == "\\":
            escaped = next(chars, "")
            if escaped not in _ESCAPABLE:
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{escaped}")
            plain.append(escaped)
        elif char in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            plain.append(char)
    return "".join(plain)
