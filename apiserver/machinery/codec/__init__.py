"""Bytes of requests into objects, objects into bytes of answers and of storage.

Knows media types and the error texts of kube-apiserver's decoder; knows no resource, no schema, no HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from apiserver.machinery.codec.gotext import quote
from apiserver.machinery.codec.json_body import MAX_DEPTH, DecodeError, load_json, normalise_numbers
from apiserver.machinery.codec.output import encode, encode_pretty, encode_yaml
from apiserver.machinery.codec.stored import splice_resource_version, store_form
from apiserver.machinery.codec.yaml_body import load_yaml
from apiserver.machinery.errors import APIError, bad_request

MediaType = Literal["application/json", "application/yaml"]

__all__ = [
    "MAX_DEPTH",
    "DecodeError",
    "Decoded",
    "MediaType",
    "cannot_be_handled",
    "decode",
    "decode_value",
    "encode",
    "encode_pretty",
    "encode_yaml",
    "json_type",
    "normalise_numbers",
    "quote",
    "splice_resource_version",
    "store_form",
    "strict_error",
    "unrecognized",
    "warning_texts",
]

_TYPE_META = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
_SUMMARY_BYTES = 30


@dataclass(slots=True)
class Decoded:
    """An object from a request body. `duplicates` are strict error texts: errors, warnings or nothing, as the
    request's field validation says; the last of several equal keys won."""

    obj: dict[str, Any]
    duplicates: list[str] = field(default_factory=list)


def decode_value(body: bytes, media_type: MediaType) -> tuple[Any, list[str]]:
    """Any JSON value (patches are lists as well) and its duplicates. Raises DecodeError."""
    return load_yaml(body) if media_type == "application/yaml" else load_json(body)


def decode(body: bytes, media_type: MediaType = "application/json", *, kind: str = "") -> Decoded:
    """The object in a request body. `kind` is the one expected, for the texts. Raises a 400 APIError.

    The object has a non-empty string `kind`; whether that and `apiVersion` are right is for the caller.
    """
    try:
        value, duplicates = decode_value(body, media_type)
    except DecodeError as error:
        if isinstance(error.value, dict) and isinstance(error.value.get("kind"), str):
            raise cannot_be_handled(error.value, kind, str(error)) from None
        is_yaml = media_type == "application/yaml"
        why = str(error) if is_yaml else f"couldn't get version/kind; json parse error: {error}"
        raise unrecognized(kind, why, body) from None
    _check_type_meta(value, kind, body)
    return Decoded(value, duplicates)


def strict_error(obj: dict[str, Any], kind: str, errors: list[str]) -> APIError:
    """400 for what `fieldValidation=Strict` refuses: duplicates and unknown fields, as texts."""
    return cannot_be_handled(obj, kind, f"strict decoding error: {', '.join(errors)}")


def cannot_be_handled(obj: dict[str, Any], kind: str, why: str) -> APIError:
    """400 for an object whose kind is known and whose content is not what the kind `kind` needs."""
    version = str(obj.get("apiVersion", "")).rpartition("/")[2]
    own = obj.get("kind", kind)
    return bad_request(f"{own} in version {quote(version)} cannot be handled as a {kind}: {why}")


_YAML_ERRORS = ("error converting YAML to JSON: yaml: unmarshal errors:\n", "yaml: unmarshal errors:\n")


def warning_texts(strict_errors: list[str]) -> list[str]:
    """Strict errors as warnings: those of a YAML document one by one."""
    found: list[str] = []
    for text in strict_errors:
        prefix = next((start for start in _YAML_ERRORS if text.startswith(start)), "")
        lines = text.removeprefix(prefix).split("\n") if prefix else [text]
        found.extend(line.strip() for line in lines)
    return found


def _check_type_meta(value: Any, kind: str, body: bytes) -> None:
    why = ""
    if value is not None and not isinstance(value, dict):
        why = f"json: cannot unmarshal {json_type(value)} into Go value of type {_TYPE_META}"
    for name in ("apiVersion", "kind") if isinstance(value, dict) else ():
        given = value.get(name)
        if given is not None and not isinstance(given, str):
            why = f"json: cannot unmarshal {json_type(given)} into Go struct field .{name} of type string"
            break
    if why:
        raise unrecognized(kind, f"couldn't get version/kind; json parse error: {why}", body)
    if not value or not value.get("kind"):
        text = body.decode("utf-8", "replace")
        raise unrecognized(kind, f"Object 'Kind' is missing in '{text}'", body)


def json_type(value: Any) -> str:
    """The type of a JSON value as encoding/json names it in errors."""
    names = {list: "array", dict: "object", str: "string", bool: "bool", int: "number", float: "number"}
    return names.get(type(value), "null")


def unrecognized(kind: str, why: str, body: bytes) -> APIError:
    """400 for a body of which not even the kind can be told."""
    if not kind:
        return bad_request(why)
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """The first bytes of a body: as they are when it looks like an object, else in hexadecimal."""
    if not body:
        return "<empty>"
    head = body[:_SUMMARY_BYTES]
    text = head.decode("utf-8", "replace") if body.startswith(b"{") else head.hex()
    return f"{text} ..." if len(body) > _SUMMARY_BYTES else text
