"""What a job's `podTemplate` may hold.

The schema keeps whatever is in it, so its shape is checked here, as far as the controller reads it. Refused
is what would make the ledger or the placement wrong: GPUs that `gpuCount` does not know of, and rules about
nodes that the placement would not see. The rest is for the pod's own validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.machinery import field
from apiserver.machinery.field import FieldError, Path
from apiserver.machinery.objectmeta.validation import validate_annotations, validate_labels
from apiserver.machinery.quantity import Quantity, QuantityError

Object = dict[str, Any]

RESERVED_DOMAIN = "ai.example.com"
"""Labels and annotations of pods under this domain are the controller's."""

OWN_CONTAINER = "inference"
"""The container that runs `spec.image`."""

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
    "overhead": "is set by the RuntimeClass",
    "resources": "use the resources of the containers",
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
        wrong = list(_not_strings(at, values))
        yield from wrong or (validate_labels if key == "labels" else validate_annotations)(values, at)


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
    containers = pod.get("containers")
    # The job's own container is there in any case; in the list it may be named, to say more about it.
    names = set() if _is_named(containers, OWN_CONTAINER) else {OWN_CONTAINER}
    yield from _containers(path.child("containers"), containers, gpu_resource, names)
    yield from _containers(path.child("initContainers"), pod.get("initContainers"), gpu_resource, names)
    yield from _named_items(path.child("volumes"), pod.get("volumes"), set())


def _containers(path: Path, containers: Any, gpu_resource: str, names: set[str]) -> Iterator[FieldError]:
    yield from _named_items(path, containers, names)
    for position, container in enumerate(containers if isinstance(containers, list) else ()):
        if not isinstance(container, dict):
            continue
        at = path.index(position)
        yield from _named_items(at.child("env"), container.get("env"), set())
        yield from _objects(at.child("volumeMounts"), container.get("volumeMounts"))
        yield from _resources(at.child("resources"), container.get("resources"), gpu_resource)


def _resources(path: Path, resources: Any, gpu_resource: str) -> Iterator[FieldError]:
    if resources is None:
        return
    if not isinstance(resources, dict):
        yield _not_an_object(path, resources)
        return
    for key in ("limits", "requests"):
        amounts, at = resources.get(key), path.child(key)
        if amounts is not None and not isinstance(amounts, dict):
            yield _not_an_object(at, amounts)
            continue
        for name, amount in (amounts or {}).items():
            if name == gpu_resource:
                yield field.forbidden(at.key(name), "the number of GPUs is given by spec.gpuCount")
            else:
                yield from _quantity(at.key(name), amount)


def _quantity(path: Path, amount: Any) -> Iterator[FieldError]:
    """The placement adds up what pods request."""
    if not isinstance(amount, str | int) or isinstance(amount, bool):
        yield field.invalid(path, amount, "must be a quantity")
        return
    try:
        if Quantity.parse(amount) < Quantity():
            yield field.invalid(path, str(amount), "must be greater than or equal to 0")
    except QuantityError as error:
        yield field.invalid(path, amount, str(error))


def _named_items(path: Path, items: Any, names: set[str]) -> Iterator[FieldError]:
    """A list of objects with unique names; `names` has those that are taken and gets those that are found."""
    yield from _objects(path, items)
    for position, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        name, at = item.get("name"), path.index(position).child("name")
        if not isinstance(name, str) or not name:
            yield field.required(at)
        elif name in names:
            yield field.duplicate(at, name)
        else:
            names.add(name)


def _objects(path: Path, items: Any) -> Iterator[FieldError]:
    """A list of objects, or nothing."""
    if items is None:
        return
    if not isinstance(items, list):
        yield field.invalid(path, items, "must be a list")
        return
    for position, item in enumerate(items):
        if not isinstance(item, dict):
            yield _not_an_object(path.index(position), item)


def _is_named(items: Any, name: str) -> bool:
    return isinstance(items, list) and any(
        isinstance(item, dict) and item.get("name") == name for item in items
    )


def _not_an_object(path: Path, value: Any) -> FieldError:
    return field.invalid(path, value, "must be an object")
