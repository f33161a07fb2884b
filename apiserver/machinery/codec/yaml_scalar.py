"""What a plain YAML scalar means to Kubernetes: null, boolean, number or string.

Source: the resolver of `go.yaml.in/yaml/v2`, which `sigs.k8s.io/yaml` uses: YAML 1.1 words, numbers with Go's
prefixes and underscores, timestamps read as strings.
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INT = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DOTTED = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}


def resolve(text: str) -> Scalar:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > 400:
        return text
    if text[0] == "." and not _DOTTED.fullmatch(text):
        return text
    return _number(text.replace("_", ""), text)


def _number(plain: str, text: str) -> Scalar:
    whole = _INT.fullmatch(plain)
    if whole and whole.lastgroup:
        value = int(whole[whole.lastgroup], _BASES[whole.lastgroup])
        value = -value if whole["sign"] == "-" else value
        # Go tries int64 and then, without a sign, uint64; a longer number can still be a float in decimal.
        if -(2**63) <= value < 2**63 or (not whole["sign"] and value < 2**64):
            return value
    if not _FLOAT.fullmatch(plain):
        return text
    number = float(plain)
    return text if math.isinf(number) else number
