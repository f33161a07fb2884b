"""Cuts nodes and pods of the host cluster down to what the controller reads: a big cluster has many of them,
and most of each is never looked at."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "labels",
    "annotations",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_POD_SPEC = ("nodeName", "schedulerName", "overhead")
_POD_STATUS = (
    "phase",
    "reason",
    "message",
    "conditions",
    "initContainerStatuses",
    "containerStatuses",
)
_CONTAINER = ("name", "image", "resources", "restartPolicy")
_NODE_STATUS = ("capacity", "allocatable")


def trim_pod(pod: Object) -> Object:
    """What is read of a pod. Pods of others keep their requests only."""
    spec = pod.get("spec") or {}
    metadata = _pick(pod["metadata"], _METADATA)
    ours = any(owner.get("kind") == "InferenceJob" for owner in metadata.get("ownerReferences") or ())
    kept = _pick(spec, _POD_SPEC)
    for key in ("containers", "initContainers"):
        if spec.get(key):
            kept[key] = [_pick(container, _CONTAINER) for container in spec[key]]
    status = pod.get("status") or {}
    if not ours:
        for key in ("labels", "annotations", "ownerReferences"):
            metadata.pop(key, None)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": kept,
        "status": _pick(status, _POD_STATUS if ours else ("phase",)),
    }


def trim_node(node: Object) -> Object:
    """What is read of a node. Of its conditions only Ready, without the heartbeat."""
    status = node.get("status") or {}
    ready = [
        _pick(condition, ("type", "status", "lastTransitionTime"))
        for condition in status.get("conditions") or ()
        if condition.get("type") == "Ready"
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            key: value
            for key, value in _pick(node["metadata"], _METADATA).items()
            if key not in ("annotations", "ownerReferences")
        },
        "spec": _pick(node.get("spec") or {}, ("unschedulable", "taints")),
        "status": {**_pick(status, _NODE_STATUS), "conditions": ready},
    }


def _pick(source: Object, keys: tuple[str, ...]) -> Object:
    return {key: source[key] for key in keys if source.get(key) is not None}
