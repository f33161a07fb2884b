"""The annotation of client-side apply, kept in step for those who move to server-side apply with kubectl.

Semantics: `lastappliedmanager.go` and `lastappliedupdater.go` of k8s.io/apimachinery. Only the manager
`kubectl` takes part.
"""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.machinery.managedfields.check import check
from apiserver.machinery.managedfields.compare import compare
from apiserver.machinery.managedfields.extract import named_fields
from apiserver.machinery.managedfields.fieldset import FieldSet, difference
from apiserver.machinery.managedfields.shape import Shape, TypedError
from apiserver.machinery.objectmeta.validation import MAX_ANNOTATION_BYTES

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
Object = dict[str, Any]


def last_applied(obj: Object) -> str:
    """The configuration that client-side apply has left in the object, or nothing."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    value = annotations.get(ANNOTATION)
    return value if isinstance(value, str) else ""


def owned_by_client_side_apply(live: Object, version: str, shape: Shape) -> FieldSet:
    """The fields that client-side apply has set and nobody has changed since: no conflict for kubectl."""
    try:
        config = orjson.loads(last_applied(live))
        if not isinstance(config, dict) or config.get("apiVersion") != version or check(config, shape):
            return {}
        changes = compare(config, live, shape)
        fields = named_fields(config, shape)
    except (orjson.JSONDecodeError, TypedError):
        return {}
    for changed in (changes.modified, changes.added, changes.removed):
        fields = difference(fields, changed)
    return fields


def update_last_applied(merged: Object, patch: Object) -> Object:
    """The merged object with the applied configuration in its annotation, unless that would be too large."""
    annotations = {**((patch.get("metadata") or {}).get("annotations") or {})}
    annotations.pop(ANNOTATION, None)
    config = {**patch, "metadata": {**(patch.get("metadata") or {}), "annotations": annotations}}
    if not annotations:
        del config["metadata"]["annotations"]
    text = orjson.dumps(config, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE).decode()
    kept = {**merged["metadata"]["annotations"], ANNOTATION: text}
    if sum(len(key.encode()) + len(value.encode()) for key, value in kept.items()) > MAX_ANNOTATION_BYTES:
        del kept[ANNOTATION]
    return {**merged, "metadata": {**merged["metadata"], "annotations": kept}}
