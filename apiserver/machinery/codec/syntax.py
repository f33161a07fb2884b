"""What exactly is wrong with a broken JSON text, in the words of Go's scanner.

Only used when the fast decoder has refused a body: it walks the tokens with the states of the scanner in Go's
`encoding/json`, one token (not one byte) a step, and its effort is bounded.
"""

from __future__ import annotations

import re

from apiserver.machinery.codec.gotext import quote_byte

END_OF_INPUT = "unexpected end of JSON input"
_MAX_TOKENS = 200_000
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PARTIAL_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?")
_INSIDE = ("in literal", "in numeric", "after decimal", "in exponent", "in string escape", "in \\u")
_CLOSERS = {"}": "{", "]": "["}
_WHERE_AFTER = {"{": "after object key:value pair", "[": "after array element"}


class _SyntaxError(Exception):
    """Ends the scan; the message is the whole error text."""


def explain(body: bytes, max_depth: int) -> str:
    """The error text for a JSON text that does not parse; empty when nothing is wrong with its syntax."""
    try:
        _Scanner(body.decode("latin-1"), max_depth).run()
    except _SyntaxError as error:
        return str(error)
    return ""


class _Scanner:
    """The position in the text and the open objects and arrays. Bytes are read as Latin-1 characters."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.at = 0
        self.max_depth = max_depth
        self.open: list[str] = []

    def run(self) -> None:
        """Walk the whole text. Raises _SyntaxError at the first thing that is wrong."""
        self._value()
        for _ in range(_MAX_TOKENS):
            if not self.open:
                return self._end()
            self._after_value()
        raise _SyntaxError(f"invalid JSON after offset {self.at}")

    def _peek(self) -> str:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        if self.at >= len(self.text):
            raise _SyntaxError(END_OF_INPUT)
        return self.text[self.at]

    def _fail(self, context: str) -> None:
        if self.at >= len(self.text):
            # Go ends the input with a space, which is what breaks a word, number or escape that is cut off.
            inside = context.startswith(_INSIDE)
            raise _SyntaxError(f"invalid character ' ' {context}" if inside else END_OF_INPUT)
        raise _SyntaxError(f"invalid character {quote_byte(ord(self.text[self.at]))} {context}")

    def _end(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        if self.at < len(self.text):
            self._fail("after top-level value")

    def _after_value(self) -> None:
        """A comma and the next value, or the end of the innermost object or array."""
        char, container = self._peek(), self.open[-1]
        if _CLOSERS.get(char) == container:
            self.at += 1
            self.open.pop()
            return
        if char != ",":
            self._fail(_WHERE_AFTER[container])
        self.at += 1
        if container == "{":
            self._key()
        self._value()

    def _key(self) -> None:
        if self._peek() != '"':
            self._fail("looking for beginning of object key string")
        self._string()
        if self._peek() != ":":
            self._fail("after object key")
        self.at += 1

    def _value(self) -> None:
        """A scalar, an empty container, or everything up to the first scalar within nested containers."""
        while True:
            char = self._peek()
            if char not in "{[":
                return self._scalar(char)
            if len(self.open) >= self.max_depth:
                self._fail("exceeded max depth")
            self.at += 1
            if _CLOSERS.get(self._peek()) == char:
                self.at += 1
                return None
            self.open.append(char)
            if char == "{":
                self._key()

    def _scalar(self, char: str) -> None:
        if char == '"':
            return self._string()
        if char in "-0123456789":
            return self._number()
        for word in ("true", "false", "null"):
            if char == word[0]:
                return self._word(word)
        return self._fail("looking for beginning of value")

    def _word(self, word: str) -> None:
        for expected in word:
            if self.text[self.at : self.at + 1] != expected:
                self._fail(f"in literal {word} (expecting '{expected}')")
            self.at += 1

    def _string(self) -> None:
        good = _STRING.match(self.text, self.at)
        self.at = good.end() if good else self.at
        char = self.text[self.at : self.at + 1]
        if char == '"':
            self.at += 1
            return
        if char != "\\":
            self._fail("in string literal")
        self.at += 1
        if self.text[self.at : self.at + 1] != "u":
            self._fail("in string escape code")
        self.at += 1
        while self.text[self.at : self.at + 1] in set("0123456789abcdefABCDEF"):
            self.at += 1
        self._fail("in \\u hexadecimal character escape")

    def _number(self) -> None:
        partial, whole = _PARTIAL_NUMBER.match(self.text, self.at), _NUMBER.match(self.text, self.at)
        end = partial.end() if partial else self.at
        if whole and whole.end() == end:
            self.at = end
            return
        last = self.text[end - 1]
        self.at = end
        if last == "-" and "e" not in self.text[max(0, end - 2) : end].lower():
            self._fail("in numeric literal")
        self._fail(
            "after decimal point in numeric literal" if last == "." else "in exponent of numeric literal"
        )
