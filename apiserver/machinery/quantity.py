"""Resource quantities (`2`, `500m`, `64Gi`), exactly, in the forms that Kubernetes reads and writes.

Source: apimachinery/pkg/api/resource (quantity.go, suffix.go) of Kubernetes 0.36. Amounts are whole numbers
of billionths; what is smaller is rounded away from zero when it is read, as there. Three things differ on
purpose: texts longer than 256 characters or with exponents beyond 256 are refused (they only serve to waste
memory), so are texts without any digit, and amounts too big for a suffix keep the biggest one, where Go
forgets it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import Final, Literal

from apiserver.machinery import gotext

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_TEXT: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = ("", *_BINARY)
_NANO: Final = 10**9
_MAX_BINARY: Final = (2**63 - 1) * _NANO
_LIMIT: Final = 256

WRONG_FORMAT: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
WRONG_NUMBER: Final = "unable to parse numeric part of quantity"
WRONG_SUFFIX: Final = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """The text is not a quantity; the message is the one of Kubernetes."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An amount in billionths, and the format in which it is written, which does not matter to equality."""

    nano: int = 0
    format: Format = "DecimalSI"

    @classmethod
    def parse(cls, value: str | float) -> Quantity:
        """Read a quantity from a JSON string or number. Raises QuantityError."""
        return _parse(value if isinstance(value, str) else gotext.to_json(value))

    @classmethod
    def of(cls, amount: int, format: Format = "DecimalSI") -> Quantity:  # noqa: A002 - the word of Kubernetes
        """A whole amount."""
        return cls(amount * _NANO, format)

    def value(self) -> int:
        """The amount as an integer, rounded away from zero."""
        return _scale(self.nano, -9)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __bool__(self) -> bool:
        return self.nano != 0

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __mul__(self, factor: int) -> Quantity:
        return Quantity(self.nano * factor, self.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.format)

    def __str__(self) -> str:
        """The canonical form: no fraction, and the biggest suffix that allows it."""
        if not self.nano:
            return "0"
        if self.format == "BinarySI" and abs(self.nano) >= 1024 * _NANO and self.nano % _NANO == 0:
            return _binary_text(self.nano // _NANO)
        return _decimal_text(self.nano, exponential=self.format == "DecimalExponent")


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    # The length first: the expression takes quadratic time to refuse a long row of digits.
    match = _TEXT.fullmatch(text) if 0 < len(text) <= _LIMIT else None
    if match is None:
        raise QuantityError(WRONG_FORMAT)
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    form, base, exponent = _interpret(suffix)
    if not whole and not fraction:
        raise QuantityError(WRONG_NUMBER)
    digits = int(f"{whole}{fraction}")
    if base == 2:
        nano = _scale(digits << exponent, 9 - len(fraction))
        nano = min(nano, _MAX_BINARY)
        form = "DecimalSI" if 0 < nano < _NANO else form
    else:
        nano = _scale(digits, 9 + exponent - len(fraction))
    return Quantity(-nano if sign == "-" else nano, form)


def _interpret(suffix: str) -> tuple[Format, int, int]:
    """The format, base and exponent that a suffix stands for."""
    if suffix in _DECIMAL:
        return "DecimalSI", 10, _DECIMAL[suffix]
    if suffix in _BINARY:
        return "BinarySI", 2, _BINARY[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(int(match[1])) > _LIMIT:
        raise QuantityError(WRONG_SUFFIX)
    return "DecimalExponent", 10, int(match[1])


def _scale(amount: int, exponent: int) -> int:
    """amount x 10^exponent, rounded away from zero."""
    if exponent >= 0:
        return amount * int(10**exponent)
    size = -(-abs(amount) // int(10**-exponent))
    return size if amount >= 0 else -size


def _binary_text(amount: int) -> str:
    times = 0
    while amount % 1024 == 0 and times < len(_BINARY_SUFFIX) - 1:
        amount //= 1024
        times += 1
    return f"{amount}{_BINARY_SUFFIX[times]}"


def _decimal_text(nano: int, *, exponential: bool) -> str:
    amount, exponent = nano, -9
    while amount % 1000 == 0 and (exponential or exponent < 18):
        amount //= 1000
        exponent += 3
    if not exponential:
        return f"{amount}{_DECIMAL_SUFFIX[exponent]}"
    return f"{amount}e{exponent}" if exponent else str(amount)
