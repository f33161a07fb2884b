"""Resource quantities as integers. Rounds up, as the scheduler does:
what a pod asks for is never understated."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}


def whole(quantity: str | int | float) -> int:
    """The quantity in its unit (bytes, GPUs, pods), rounded up. Raises ValueError if it is none."""
    return _scaled(str(quantity), 1)


def milli(quantity: str | int | float) -> int:
    """The quantity in thousandths (CPU), rounded up. Raises ValueError if it is none."""
    return _scaled(str(quantity), 1000)


@lru_cache(maxsize=4096)
def _scaled(text: str, scale: int) -> int:
    number = text.rstrip("numkMGTPEi")
    suffix = text[len(number) :]
    try:
        # `1E3` and `1e3` are exponents; a lone E at the end is exa, which rstrip has taken off.
        value = Decimal(number) * _SUFFIXES[suffix] * scale
        return int(value.to_integral_value(rounding=ROUND_CEILING))
    except (ArithmeticError, KeyError, ValueError) as error:
        raise ValueError(f"not a quantity: {text!r}") from error
