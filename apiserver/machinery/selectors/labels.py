"""Label selectors: `app=web,tier in (a,b),!legacy,size>3`.

Grammar, order and error texts are those of `k8s.io/apimachinery/pkg/labels`. Knows labels as a plain dict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from apiserver.machinery.errors import bad_request
from apiserver.machinery.field import FieldError, Path, invalid
from apiserver.machinery.objectmeta.names import label_key, label_value
from apiserver.machinery.selectors.bounds import ensure_length

Operator = Literal["exists", "!", "=", "==", "!=", "in", "notin", ">", "<"]
Labels = Mapping[str, str]

_LEXEME = re.compile(r"[ \t\r\n]*(?:(?P<symbol>==|=|!=|!|\(|\)|,|>|<)|(?P<word>[^=!(),>< \t\r\n]+))")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_SYMBOLS = frozenset(("==", "=", "!=", "!", "(", ")", ",", ">", "<"))
_BINARY = ("=", "==", "!=", "in", "notin", ">", "<")
_OPERATORS_TEXT = "in, notin, =, ==, !=, gt, lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. `values` is sorted and free of repeats."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether an object with these labels meets the condition."""
        value = labels.get(self.key)
        if self.operator in ("in", "=", "=="):
            return value is not None and value in self.values
        if self.operator in ("notin", "!="):
            return value is None or value not in self.values
        if self.operator in ("exists", "!"):
            return (value is not None) == (self.operator == "exists")
        have, limit = _int64(value), int(self.values[0])
        return have is not None and (have > limit if self.operator == ">" else have < limit)

    def __str__(self) -> str:
        listed = ",".join(self.values)
        if self.operator in ("exists", "!"):
            return f"!{self.key}" if self.operator == "!" else self.key
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({listed})"
        return f"{self.key}{self.operator}{listed}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold; none match everything. `str()` is the canonical text."""

    requirements: tuple[Requirement, ...] = ()

    def __bool__(self) -> bool:
        """Whether it excludes anything."""
        return bool(self.requirements)

    def matches(self, labels: Labels | None) -> bool:
        """Whether an object with these labels is selected."""
        have = labels or {}
        return all(requirement.matches(have) for requirement in self.requirements)

    def predicate(self) -> Callable[[Labels | None], bool]:
        """`matches` as a function, with the simple cases made fast."""
        if not self.requirements:
            return lambda _labels: True
        only = self.requirements[0]
        if len(self.requirements) == 1 and only.operator in ("=", "=="):
            key, value = only.key, only.values[0]
            return lambda labels: labels is not None and labels.get(key) == value
        return self.matches

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


def parse_label_selector(text: str) -> LabelSelector:
    """Read a label selector. Raises a 400 APIError with upstream's text."""
    if not text:
        return EVERYTHING
    ensure_length(text)
    try:
        requirements = _Parser(text).parse()
    except _ParseError as error:
        raise bad_request(str(error)) from None
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


EVERYTHING = LabelSelector()


class _ParseError(Exception):
    """The text is no selector; the message is the answer."""


def _int64(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    value = int(text[:32])
    return value if -(2**63) <= value < 2**63 else None


def _lexemes(text: str) -> list[str]:
    """The words and symbols, ended by an empty string (as a NUL ends the text too)."""
    lexemes = []
    text = text.partition("\0")[0].rstrip(" \t\r\n")
    at = 0
    while at < len(text):
        match = _LEXEME.match(text, at)
        if match is None:
            break
        lexemes.append(match["symbol"] or match["word"])
        at = match.end()
    return [*lexemes, ""]


@dataclass(slots=True)
class _Parser:
    text: str
    lexemes: list[str] = field(init=False)
    at: int = 0

    def __post_init__(self) -> None:
        self.lexemes = _lexemes(self.text)

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            lexeme = self._peek()
            if not lexeme:
                return requirements
            if lexeme != "!" and not _is_word(lexeme):
                raise _ParseError(f"found '{lexeme}', expected: !, identifier, or 'end of string'")
            requirements.append(self._requirement())
            lexeme = self._next()
            if not lexeme:
                return requirements
            if lexeme != ",":
                raise _ParseError(f"found '{lexeme}', expected: ',' or 'end of string'")
            following = self._peek()
            if following != "!" and not _is_word(following):
                raise _ParseError(f"found '{following}', expected: identifier after ','")

    def _peek(self) -> str:
        return self.lexemes[self.at]

    def _next(self) -> str:
        lexeme = self.lexemes[self.at]
        self.at = min(self.at + 1, len(self.lexemes) - 1)
        return lexeme

    def _fail(self, found: str, expected: str) -> _ParseError:
        return _ParseError(f"unable to parse requirement: found '{found}', expected: {expected}")

    def _requirement(self) -> Requirement:
        lexeme = self._next()
        negated = lexeme == "!"
        key = self._next() if negated else lexeme
        if not _is_word(key):
            raise self._fail(key, "identifier")
        reasons = label_key(key)
        if reasons:
            raise _unable([invalid(Path(), key, "; ".join(reasons))])
        if negated:
            return Requirement(key, "!")
        if self._peek() in ("", ","):
            return Requirement(key, "exists")
        operator: Any = self._next()
        if operator not in _BINARY:
            raise self._fail(operator, _OPERATORS_TEXT)
        values = self._values() if operator in ("in", "notin") else {self._exact_value()}
        return _checked(Requirement(key, operator, tuple(sorted(values))))

    def _exact_value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        lexeme = self._next()
        if not _is_word(lexeme):
            raise self._fail(lexeme, "identifier")
        return lexeme

    def _values(self) -> set[str]:
        lexeme = self._next()
        if lexeme != "(":
            raise _ParseError(f"unable to parse requirement: found '{lexeme}' expected: '('")
        first = self._peek()
        if first == ")":
            self._next()
            return {""}
        if first != "," and not _is_word(first):
            raise self._fail(first, "',', ')' or identifier")
        values = self._list()
        self._next()
        return values

    def _list(self) -> set[str]:
        """Words between commas, up to the closing parenthesis; nothing between commas is the empty word."""
        values: set[str] = set()
        while True:
            lexeme = self._next()
            following = self._peek()
            if _is_word(lexeme):
                values.add(lexeme)
                if following == ")":
                    return values
                if following != ",":
                    raise self._fail(following, "',' or ')'")
            elif lexeme == ",":
                if not values or following in (")", ","):
                    values.add("")
                if following == ")":
                    return values
            else:
                raise self._fail(lexeme, "',', or identifier")


def _is_word(lexeme: str) -> bool:
    return bool(lexeme) and lexeme not in _SYMBOLS


def _checked(requirement: Requirement) -> Requirement:
    path = Path("values")
    errors: list[FieldError] = []
    if requirement.operator in (">", "<") and _int64(requirement.values[0]) is None:
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        errors.append(invalid(path.index(0), requirement.values[0], detail))
    for index, value in enumerate(requirement.values):
        reasons = label_value(value)
        if reasons:
            errors.append(invalid(path.index(index).key(requirement.key), value, "; ".join(reasons)))
    if errors:
        raise _unable(errors)
    return requirement


def _unable(errors: Sequence[FieldError]) -> _ParseError:
    texts = list(dict.fromkeys(str(error) for error in errors))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return _ParseError(f"unable to parse requirement: {listed}")
