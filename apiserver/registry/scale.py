"""`autoscaling/v1` Scale as a view of an object: how many replicas are wanted, and how many there are."""

from __future__ import annotations

from typing import Any

from apiserver.machinery import errors
from apiserver.machinery.field import FieldError
from apiserver.machinery.resource import Resource, Scale
from apiserver.registry.checks import value_at

Object = dict[str, Any]

API_VERSION = "autoscaling/v1"
KIND = "Scale"
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def declaration(resource: Resource) -> Scale:
    """The resource's declaration of /scale. Raises 404 when it has none."""
    if resource.scale is None:
        raise errors.not_found(resource.group_resource, "")
    return resource.scale


def scale_of(resource: Resource, obj: Object) -> Object:
    """The Scale of an object of the storage version."""
    paths = declaration(resource)
    metadata = {key: obj["metadata"][key] for key in _KEPT if key in obj["metadata"]}
    status: Object = {"replicas": _count(obj, paths.status_replicas)}
    if paths.label_selector and (selector := value_at(obj, paths.label_selector)):
        status["selector"] = selector
    replicas = _count(obj, paths.spec_replicas)
    spec = {"replicas": replicas} if replicas else {}
    return {"kind": KIND, "apiVersion": API_VERSION, "metadata": metadata, "spec": spec, "status": status}


def with_scale(resource: Resource, obj: Object, scale: Object) -> Object:
    """`obj` with the replicas, and the preconditions, of a Scale. Raises 400 and 422."""
    given, name = scale.get("metadata") or {}, obj["metadata"]["name"]
    check_replicas(scale, name)
    _set(obj, declaration(resource).spec_replicas, (scale.get("spec") or {}).get("replicas", 0))
    for key in ("resourceVersion", "uid"):
        if given.get(key):
            obj["metadata"][key] = given[key]
    return obj


def check_replicas(scale: Object, name: str) -> None:
    """Refuse a Scale whose replicas are no count. Raises 400 and 422."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise errors.bad_request(
            f'{KIND} in version "v1" cannot be handled as a {KIND}: spec.replicas must be an integer'
        )
    if replicas < 0:
        detail = "must be greater than or equal to 0"
        found = FieldError("FieldValueInvalid", "spec.replicas", detail, replicas)
        raise errors.invalid(KIND, "autoscaling", name, [found])


def _count(obj: Object, path: str) -> int:
    value = value_at(obj, path)
    return value if isinstance(value, int) else 0


def _set(obj: Object, path: str, value: Any) -> None:
    *parents, last = path.strip(".").split(".")
    for part in parents:
        obj = obj.setdefault(part, {})
    obj[last] = value
