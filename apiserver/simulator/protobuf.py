"""The few bodies that kubectl sends in protobuf alone, as JSON.

kubectl speaks protobuf with kinds that are built into Kubernetes, and has no way back to JSON. This server
has no need of protobuf, so the simulated cluster reads just what kubectl's commands send: which fields there
are is told by `_KINDS`; one that is not known there is refused, never dropped.

The envelope is `k8s\\0` and a `runtime.Unknown`; field numbers are those of the `generated.proto` files of
k8s.io/apimachinery and k8s.io/api 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
Read = Callable[[Any], Any]

MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


class NotUnderstood(ValueError):  # noqa: N818 - the name says what happened
    """The bytes are no such message, or hold what is not simulated."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field's JSON name, how its value is read, and whether it is a list or a map of strings."""

    name: str
    read: Read
    many: str = ""


def to_object(body: bytes) -> Object:
    """The object in an envelope. Raises NotUnderstood."""
    if not body.startswith(MAGIC):
        raise NotUnderstood("it does not begin as Kubernetes' protobuf does")
    envelope = _message(_UNKNOWN)(memoryview(body)[len(MAGIC) :])
    if envelope.get("contentEncoding") or envelope.get("contentType"):
        raise NotUnderstood("its content is encoded in a way of its own")
    kind = envelope.get("typeMeta", {})
    fields = _KINDS.get(kind.get("kind", ""))
    if fields is None:
        raise NotUnderstood(f"kind {kind.get('kind')!r} is read as JSON only")
    return {**kind, **_message(fields)(envelope.get("raw", memoryview(b"")))}


def _message(fields: Mapping[int, Field]) -> Read:
    def read(data: Any) -> Object:
        found: Object = {}
        for number, value in _parts(data):
            field = fields.get(number)
            if field is None:
                if not value:
                    # Go's generated code writes fields that are not set as well: empty, or zero.
                    continue
                raise NotUnderstood(f"field {number} is not simulated")
            _add(found, field, value)
        return found

    return read


def _add(found: Object, field: Field, value: Any) -> None:
    read = field.read(value)
    if field.many == "list":
        found.setdefault(field.name, []).append(read)
    elif field.many == "map":
        found.setdefault(field.name, {})[read.get("key", "")] = read.get("value", "")
    elif read != {} and read != "":
        found[field.name] = read


def _parts(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Field numbers and raw values: numbers, or the bytes of what has a length."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _LENGTH:
            size, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise NotUnderstood(f"wire type {wire} is not used by Kubernetes")
        if size > len(data) - at:
            raise NotUnderstood("it ends too early")
        yield number, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(_MAX_VARINT_BYTES):
        if at >= len(data):
            raise NotUnderstood("it ends too early")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at
    raise NotUnderstood("a number is too long")


def _text(value: Any) -> str:
    try:
        return bytes(value).decode()
    except (UnicodeDecodeError, TypeError) as error:
        raise NotUnderstood("a text is not UTF-8") from error


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise NotUnderstood("a number has a length")
    return value - (1 << 64) if value >> 63 else value


def _boolean(value: Any) -> bool:
    return _number(value) != 0


def _bytes(value: Any) -> Any:
    if not isinstance(value, memoryview):
        raise NotUnderstood("bytes are a number")
    return value


def _nested(fields: Mapping[int, Field]) -> Read:
    read = _message(fields)
    return lambda value: read(_bytes(value))


_ENTRY = {1: Field("key", _text), 2: Field("value", _text)}
_UNKNOWN = {
    1: Field("typeMeta", _nested({1: Field("apiVersion", _text), 2: Field("kind", _text)})),
    2: Field("raw", _bytes),
    3: Field("contentEncoding", _text),
    4: Field("contentType", _text),
}
_META = {
    1: Field("name", _text),
    2: Field("generateName", _text),
    3: Field("namespace", _text),
    5: Field("uid", _text),
    6: Field("resourceVersion", _text),
    # A time of zero; a real one is the server's to give.
    8: Field("creationTimestamp", _nested({})),
    11: Field("labels", _nested(_ENTRY), "map"),
    12: Field("annotations", _nested(_ENTRY), "map"),
    14: Field("finalizers", _text, "list"),
}
_DELETE_OPTIONS = {
    1: Field("gracePeriodSeconds", _number),
    2: Field("preconditions", _nested({1: Field("uid", _text), 2: Field("resourceVersion", _text)})),
    3: Field("orphanDependents", _boolean),
    4: Field("propagationPolicy", _text),
    5: Field("dryRun", _text, "list"),
}
_KINDS: Mapping[str, Mapping[int, Field]] = {
    "Namespace": {
        1: Field("metadata", _nested(_META)),
        2: Field("spec", _nested({1: Field("finalizers", _text, "list")})),
        3: Field("status", _nested({1: Field("phase", _text)})),
    },
    "DeleteOptions": _DELETE_OPTIONS,
}
