"""What a job's `podTemplate` may hold.

The schema keeps whatever is in it, so its shape is checked here, as far as the controller reads it. Refused
is what would make the ledger or the placement wrong: GPUs that `gpuCount` does not know of, and rules about
nodes that the placement would not see. The rest is for the pod's own validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.apis.ai.labels import label_errors
from apiserver.machinery import field
from apiserver.machinery.field import FieldError, Path

Object = dict[str, Any]

RESERVED_DOMAIN = "ai.example.com"
"""Labels and annotations of pods under this domain are the controller's."""

_OWN_METADATA = frozenset({"name", "generateName", "namespace", "ownerReferences", "finalizers"})
_FORBIDDEN = {
    "nodeName": "nodes are chosen by the placement",
    "nodeSelector": "use spec.nodeSelector",
    "tolerations": "use spec.tolerations",
    "affinity": "is not supported by the placement: use spec.nodeSelector and spec.gpuProducts",
    "topologySpreadConstraints": "is not supported by the placement",
    "schedulingGates": "is not supported: use spec.suspend",
    "resourceClaims": "is not supported: GPUs are requested through spec.gpuCount",
    "ephemeralContainers": "cannot be set in a pod template",
}
_OVERRIDDEN = {"restartPolicy": "spec.restartPolicy", "schedulerName": "the placement"}


def template_errors(path: Path, spec: Object) -> Iterator[FieldError]:
    """What is wrong with the template of a job with this spec."""
    template = spec.get("podTemplate")
    if template is None:
        return
    for key in sorted(template.keys() - {"metadata", "spec"}):
        yield field.forbidden(path.child(key), "a pod template has metadata and spec only")
    yield from _metadata(path.child("metadata"), template.get("metadata"))
    yield from _pod_spec(path.child("spec"), template.get("spec"), spec["gpuResource"])


def template_warnings(spec: Object) -> list[str]:
    """Sentences about what the template says in vain."""
    pod = (spec.get("podTemplate") or {}).get("spec") or {}
    return [
        f"spec.podTemplate.spec.{key}: has no effect: {by} decides"
        for key, by in _OVERRIDDEN.items()
        if key in pod
    ]


def _metadata(path: Path, metadata: Any) -> Iterator[FieldError]:
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        yield _not_an_object(path, metadata)
        return
    for key in sorted(metadata.keys() & _OWN_METADATA):
        yield field.forbidden(path.child(key), "is set by the controller")
    for key in ("labels", "annotations"):
        values, at = metadata.get(key), path.child(key)
        if values is None:
            continue
        if not isinstance(values, dict):
            yield _not_an_object(at, values)
            continue
        yield from _reserved(at, values)
        yield from label_errors(at, values) if key == "labels" else _not_strings(at, values)


def _reserved(path: Path, values: Object) -> Iterator[FieldError]:
    for key in values:
        if key.partition("/")[0] == RESERVED_DOMAIN:
            yield field.forbidden(path.key(key), f"keys under {RESERVED_DOMAIN}/ are set by the controller")


def _not_strings(path: Path, values: Object) -> Iterator[FieldError]:
    for key, value in values.items():
        if not isinstance(value, str):
            yield field.invalid(path.key(key), value, "must be a string")


def _pod_spec(path: Path, pod: Any, gpu_resource: str) -> Iterator[FieldError]:
    if pod is None:
        return
    if not isinstance(pod, dict):
        yield _not_an_object(path, pod)
        return
    for key, why in _FORBIDDEN.items():
        if pod.get(key):
            yield field.forbidden(path.child(key), why)
    names: set[str] = set()
    for key in ("initContainers", "containers"):
        yield from _containers(path.child(key), pod.get(key), gpu_resource, names)
    yield from _named_items(path.child("volumes"), pod.get("volumes"), set())


def _containers(path: Path, containers: Any, gpu_resource: str, names: set[str]) -> Iterator[FieldError]:
    yield from _named_items(path, containers, names)
    for position, container in enumerate(containers if isinstance(containers, list) else ()):
        if not isinstance(container, dict) or container.get("resources") is None:
            continue
        at = path.index(position).child("resources")
        resources = container["resources"]
        if not isinstance(resources, dict):
            yield _not_an_object(at, resources)
            continue
        for key in ("limits", "requests"):
            amounts = resources.get(key)
            if amounts is not None and not isinstance(amounts, dict):
                yield _not_an_object(at.child(key), amounts)
            elif gpu_resource in (amounts or {}):
                yield field.forbidden(
                    at.child(key).key(gpu_resource), "the number of GPUs is given by spec.gpuCount"
                )


def _named_items(path: Path, items: Any, names: set[str]) -> Iterator[FieldError]:
    """A list of objects with unique names; `names` has those that are taken and gets those that are found."""
    if items is None:
        return
    if not isinstance(items, list):
        yield field.invalid(path, items, "must be a list")
        return
    for position, item in enumerate(items):
        at = path.index(position)
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(item, dict):
            yield _not_an_object(at, item)
        elif not isinstance(name, str) or not name:
            yield field.required(at.child("name"))
        elif name in names:
            yield field.duplicate(at.child("name"), name)
        else:
            names.add(name)


def _not_an_object(path: Path, value: Any) -> FieldError:
    return field.invalid(path, value, "must be an object")
