"""JSON merge patches (RFC 7396) as kube-apiserver applies them.

It uses evanphx/json-patch v4, which differs from the RFC in one thing: lists that are new, or that take the
place of something that is no object, lose the nulls of the objects in them. Knows plain JSON values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apiserver.machinery.codec.json_body import DecodeError, load_json
from apiserver.machinery.errors import bad_request
from apiserver.machinery.patch.json_patch import copy_json

_JSON_TYPES = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


@dataclass(frozen=True, slots=True)
class MergePatch:
    """A decoded patch. `strict_errors` are its duplicate fields, as texts."""

    value: dict[str, Any]
    strict_errors: list[str] = field(default_factory=list)

    def apply(self, document: Any) -> Any:
        """The patched document; the given one is not changed and not shared. Never fails."""
        patch = copy_json(self.value)
        if not isinstance(document, dict):
            return _without_nulls(patch)
        return _merge(copy_json(document), patch)


def parse_merge_patch(body: bytes) -> MergePatch:
    """Decode a patch. Raises a 400 APIError when it is no JSON object."""
    try:
        value, duplicates = load_json(body)
    except DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if value is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(value, dict):
        what = f"{_JSON_TYPES[type(value)]} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding patch: json: cannot unmarshal {what}")
    return MergePatch(value, duplicates)


def _merge(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    for key, value in patch.items():
        current = document.get(key)
        if value is None:
            document.pop(key, None)
        elif not isinstance(current, dict):
            document[key] = _without_nulls(value)
        elif isinstance(value, dict):
            document[key] = _merge(current, value)
        else:
            document[key] = value
    return document


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
