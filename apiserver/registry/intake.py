"""What a client sent, made into an object of its version: metadata of the right types, no unknown fields,
defaults.

The order is that of `unstructuredSchemaCoercer` in k8s.io/apiextensions-apiserver, because it decides which
error wins.
"""

from __future__ import annotations

from typing import Any

from apiserver.machinery import objectmeta
from apiserver.machinery.resource import Resource

Object = dict[str, Any]


def take_in(resource: Resource, version: str, obj: Object) -> list[str]:
    """Coerce metadata, prune and default `obj` in place; gives strict error texts for what was dropped.

    Raises ValueError with upstream's text when metadata is not decodable. An object of another kind or
    version is
    left alone, for validation to say so.
    """
    unknown = objectmeta.coerce(obj)
    if obj.get("kind") == resource.kind and obj.get("apiVersion") == str(resource.group_version(version)):
        schema = resource.by_version[version].schema
        unknown += schema.prune(obj)
        schema.default(obj)
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    return [f'unknown field "{path}"' for path in unknown]
