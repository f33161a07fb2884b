"""What the watch cache keeps of an object: its bytes, ready to be sent, and the few fields that selectors
ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.machinery.codec import splice_resource_version
from apiserver.machinery.resource import Resource
from apiserver.registry.keys import KeySpace
from apiserver.registry.paths import value_at
from storage.interface import KeyValue

_NONE: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class View:
    """An object as of one revision. `encoded` is JSON of the storage version with
    the resourceVersion in it."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    fields: Mapping[str, str]
    encoded: bytes

    def decode(self) -> dict[str, Any]:
        """A fresh copy of the object that the caller may change."""
        decoded: dict[str, Any] = orjson.loads(self.encoded)
        return decoded


def view_of(resource: Resource, item: KeyValue) -> View:
    """The view of a stored object. Raises ValueError when the bytes are no object."""
    obj = orjson.loads(item.value)
    metadata = obj["metadata"]
    return View(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        labels=metadata.get("labels") or _NONE,
        fields=selectable_fields(resource, obj),
        encoded=splice_resource_version(item.value, item.mod_revision),
    )


def selectable_fields(resource: Resource, obj: dict[str, Any]) -> dict[str, str]:
    """The values that field selectors see, as text; a missing one is empty."""
    metadata = obj["metadata"]
    fields = {"metadata.name": metadata["name"]}
    if resource.namespaced:
        fields["metadata.namespace"] = metadata.get("namespace", "")
    for path in resource.selectable_fields:
        fields[path] = _text(value_at(obj, path))
    return fields


def view_factory(keys: KeySpace, resources: Mapping[bytes, Resource]) -> Callable[[KeyValue], View]:
    """The view function of a cache over several resources; `resources` are by bucket."""

    def view(item: KeyValue) -> View:
        return view_of(resources[keys.bucket(item.key)], item)

    return view


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
