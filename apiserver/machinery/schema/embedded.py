"""Objects inside of objects: an embedded resource says what it is.

Source: schema/objectmeta/validation.go of k8s.io/apiextensions-apiserver 0.36. The metadata of an
embedded resource is only checked to be an object; what is in it belongs to whoever creates the resource.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from apiserver.machinery.field import FieldError, Path, invalid, required

Embedded = Callable[[Any, str, list[FieldError]], None]
"""Takes a value, its path and the list of errors."""

_KIND = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_BAD_KIND = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case "
    "alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric "
    "character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def compile_embedded(schema: Mapping[str, Any]) -> Embedded | None:
    """The check of all embedded resources below this schema; None if there are none."""
    fields = {
        name: found
        for name, value in schema.get("properties", {}).items()
        if (found := compile_embedded(value)) is not None
    }
    extra = schema.get("additionalProperties")
    additional = compile_embedded(extra) if isinstance(extra, Mapping) else None
    items = compile_embedded(schema["items"]) if "items" in schema else None
    own = bool(schema.get("x-kubernetes-embedded-resource"))
    if not fields and additional is None and items is None and not own:
        return None

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if value.__class__ is list and items is not None:
            for position, item in enumerate(value):
                items(item, f"{path}[{position}]", errors)
        if value.__class__ is not dict:
            return
        if own:
            errors += _resource_errors(value, Path(path))
        for name, item in value.items():
            if name in fields:
                fields[name](item, f"{path}.{name}" if path else name, errors)
            elif additional is not None:
                additional(item, f"{path}[{name}]", errors)

    return check


def _resource_errors(value: dict[str, Any], path: Path) -> list[FieldError]:
    errors = [required(path.child(name)) for name in ("apiVersion", "kind") if name not in value]
    if "apiVersion" in value:
        errors += _api_version_errors(value["apiVersion"], path.child("apiVersion"))
    if "kind" in value:
        errors += _kind_errors(value["kind"], path.child("kind"))
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        errors.append(invalid(path.child("metadata"), metadata, "must be an object"))
    return errors


def _api_version_errors(value: Any, path: Path) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid(path, value, "must be a string")]
    if not value:
        return [invalid(path, value, "must not be empty")]
    if value.count("/") > 1:
        return [invalid(path, value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind_errors(value: Any, path: Path) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid(path, value, "must be a string")]
    if not value:
        return [invalid(path, value, "must not be empty")]
    return [] if _KIND.fullmatch(value.lower()) and len(value) <= 63 else [invalid(path, value, _BAD_KIND)]
