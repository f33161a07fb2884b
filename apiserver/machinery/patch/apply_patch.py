"""Applied configurations (`application/apply-patch+yaml`), decoded in the words of kube-apiserver.

What is done with them is the business of `managedfields`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiserver.machinery.codec.json_body import DecodeError
from apiserver.machinery.codec.yaml_body import load_yaml
from apiserver.machinery.errors import APIError, bad_request

_JSON_TYPES = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


@dataclass(frozen=True, slots=True)
class ApplyPatch:
    """A decoded configuration. `strict_error` names its duplicate keys; it is a warning or, by `strictly`, an
    error, and empty when there are none."""

    value: dict[str, Any]
    strict_error: str = ""

    def strictly(self) -> APIError:
        """The 400 for duplicate keys under `fieldValidation=Strict`."""
        return bad_request(f"error strict decoding YAML: {self.strict_error}")


def parse_apply_patch(body: bytes) -> ApplyPatch:
    """Decode a configuration, in YAML or JSON. Raises a 400 APIError when it is no object."""
    try:
        value, duplicates = load_yaml(body)
    except DecodeError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        what = f"{_JSON_TYPES[type(value)]} into Go value of type map[string]interface {{}}"
        where = "error unmarshaling JSON: while decoding JSON"
        raise bad_request(f"error decoding YAML: {where}: json: cannot unmarshal {what}")
    strict = f"error converting YAML to JSON: {', '.join(duplicates)}" if duplicates else ""
    return ApplyPatch(value, strict)
