"""What a client sent, made into an object of its version:
metadata of the right types, no unknown fields, defaults.

The order is that of `unstructuredSchemaCoercer` in k8s.io/apiextensions-apiserver, because it decides which
error wins.
"""

from __future__ import annotations

from typing import Any

from apiserver.machinery import objectmeta
from apiserver.machinery.gvk import GroupVersion
from apiserver.machinery.resource import Resource

Object = dict[str, Any]

_TYPE_AND_METADATA = {"apiVersion", "kind", "metadata"}


def take_in(resource: Resource, version: str, obj: Object, *, applied: bool = False) -> list[str]:
    """Coerce metadata, prune and default `obj` in place; gives strict error texts for what was dropped.

    Raises ValueError with upstream's text when metadata is not decodable. An object of another kind is left
    alone, for validation to say so; of a version that is not served nothing is known, so all is dropped.
    `applied` objects have been merged by server-side apply.
    """
    unknown = objectmeta.coerce(obj)
    group_version = GroupVersion.parse(obj.get("apiVersion") or "")
    if obj.get("kind") == resource.kind and group_version.group == resource.group:
        if group_version.version == version:
            schema = resource.by_version[version].schema
            unknown += schema.prune(obj)
            (schema.default_applied if applied else schema.default)(obj)
        elif group_version.version not in resource.by_version:
            strange = sorted(obj.keys() - _TYPE_AND_METADATA)
            unknown += strange
            for name in strange:
                del obj[name]
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    return [f'unknown field "{path}"' for path in unknown]
