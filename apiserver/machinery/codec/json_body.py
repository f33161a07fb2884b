"""JSON bodies into plain values, with the semantics of Kubernetes' unstructured JSON.

orjson does the work; what it cannot tell (duplicate keys, nesting, numbers beyond int64) is checked cheaply
afterwards, and what it refuses but Go accepts (bytes that are not UTF-8, lone surrogates) takes a slower way.
Source of the semantics: `sigs.k8s.io/json`. Knows nothing of objects, kinds or HTTP.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import orjson

from apiserver.machinery.codec.gotext import quote
from apiserver.machinery.codec.syntax import explain

MAX_DEPTH = 128
"""How deep objects and arrays may nest. Go allows 10,000; ours is so low that recursion over an object is
safe everywhere in this program (Python's stack ends at about 1,000 frames); real objects stay below 40."""

MAX_VALUES = 100_000
"""How many values (fields, items) a document may hold: each costs time in every step of a request, and real
objects that fit into storage have a tenth of it."""

MAX_STRICT_ERRORS = 100
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_CONTAINERS = frozenset((dict, list))
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_SURROGATES = re.compile("[\ud800-\udfff]")


class DecodeError(ValueError):
    """The text cannot be decoded; `str()` is the text of the error as Kubernetes' decoder words it.

    `value` is what could be read, for errors that leave the rest of the document known; else None.
    """

    def __init__(self, message: str, *, value: Any = None) -> None:
        super().__init__(message)
        self.value = value


def load_json(body: bytes) -> tuple[Any, list[str]]:
    """The value and its duplicate fields as strict error texts. Raises DecodeError.

    Integers within int64 are int, other numbers are float unless their value is an integer within int64.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _load_leniently(body)
    keys, has_float = survey(value)
    if has_float or _LONG_NUMBER.search(body):
        value = normalise_numbers(value)
    return value, [] if _key_count(body) == keys else list(_duplicates(body))


def _key_count(body: bytes) -> int:
    """How many keys the text has, counted cheaply: never less than it has, or -1 when it cannot be told.

    A key ends in `":`. An escaped quote is taken off; a colon right after the first quote of a string counts
    too many, which costs only a second look; a backslash at the end of a key or a space before a colon would
    count too few.
    """
    if b'\\\\"' in body or b" :" in body or b"\n:" in body or b"\t:" in body or b"\r:" in body:
        return -1
    return body.count(b'":') - body.count(b'\\":')


def survey(root: Any) -> tuple[int, bool]:
    """How many keys all objects of a value hold together, and whether there is a float in it.

    Raises DecodeError when it nests too deeply or holds too many values.
    """
    level = [root] if type(root) in _CONTAINERS else []
    keys = items = depth = 0
    has_float = False
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise DecodeError("exceeded max depth")
        below: list[Any] = []
        for node in level:
            values = node
            if type(node) is dict:
                keys += len(node)
                values = node.values()
            else:
                items += len(node)
            if keys + items > MAX_VALUES:
                raise DecodeError("exceeded max number of values")
            kinds = set(map(type, values))
            if float in kinds:
                has_float = True
            if not kinds.isdisjoint(_CONTAINERS):
                below += [value for value in values if type(value) in _CONTAINERS]
        level = below
    return keys, has_float


def normalise_numbers(value: Any) -> Any:
    """Numbers as Kubernetes has them after one round through storage: `2.0` is 2, beyond int64 is a float."""
    kind = type(value)
    if kind is dict:
        return {key: normalise_numbers(item) for key, item in value.items()}
    if kind is list:
        return [normalise_numbers(item) for item in value]
    if kind is float:
        return int(value) if value.is_integer() and INT64_MIN <= value < INT64_MAX else value
    if kind is int:
        return value if INT64_MIN <= value <= INT64_MAX else float(value)
    return value


def _load_leniently(body: bytes) -> Any:
    """What Go accepts and orjson does not. Raises DecodeError with Go's words for what neither accepts."""
    numbers = _Numbers()
    try:
        text = body.decode("utf-8", "replace")
        value = json.loads(
            text, parse_constant=_refuse, parse_float=numbers.read, parse_int=numbers.read_whole
        )
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    except ValueError:
        raise DecodeError(explain(body, MAX_DEPTH) or "invalid JSON") from None
    survey(value)
    value = _without_surrogates(value)
    if numbers.too_large:
        first = numbers.too_large[0]
        message = f"json: cannot unmarshal number {first} into Go value of type float64"
        raise DecodeError(message, value=value)
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


class _Numbers:
    """Reads floats and remembers those that no float can hold."""

    def __init__(self) -> None:
        self.too_large: list[str] = []

    def read(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            self.too_large.append(text)
        return value

    def read_whole(self, text: str) -> float:
        """Beyond twenty digits no integer is meant to be exact, and Python's would cost quadratic time."""
        return int(text) if len(text) <= 20 else self.read(text)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return _SURROGATES.sub("�", value) if isinstance(value, str) else value


class _Pairs(list[tuple[str, Any]]):
    """An object with all its keys, also those that occur twice."""


def _duplicates(body: bytes) -> Iterator[str]:
    """The strict error texts, in the order of the document, each path once."""
    pairs = json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_Pairs, parse_int=float)
    seen: dict[str, None] = {}
    for path in _duplicate_paths(pairs, ""):
        seen.setdefault(path)
        if len(seen) >= MAX_STRICT_ERRORS:
            break
    return (f"duplicate field {quote(path)}" for path in seen)


def _duplicate_paths(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        keys: set[str] = set()
        for key, item in value:
            below = f"{path}.{key}" if path else key
            if key in keys:
                yield below
            keys.add(key)
            yield from _duplicate_paths(item, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _duplicate_paths(item, f"{path}[{index}]")
