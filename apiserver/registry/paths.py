"""Values at paths such as `.spec.replicas`, the notation in which resources declare fields. It must not know
what the values mean."""

from __future__ import annotations

from typing import Any


def value_at(obj: Any, path: str) -> Any:
    """The value at a path, or None where the object does not go so far."""
    for part in path.strip(".").split("."):
        if not isinstance(obj, dict):
            return None
        obj = obj.get(part)
    return obj


def set_at(obj: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path, with whatever objects lead there."""
    *parents, last = path.strip(".").split(".")
    for part in parents:
        obj = obj.setdefault(part, {})
    obj[last] = value
