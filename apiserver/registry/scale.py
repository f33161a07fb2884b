"""`autoscaling/v1` Scale as a view of an object: how many replicas are wanted, and how many there are."""

from __future__ import annotations

from typing import Any

from apiserver.machinery import errors
from apiserver.machinery.resource import Resource, Scale
from apiserver.registry.paths import set_at, value_at

Object = dict[str, Any]

API_VERSION = "autoscaling/v1"
KIND = "Scale"
_PARTS = ("apiVersion", "kind", "metadata", "spec", "status")
_SPEC = ("replicas",)
_STATUS = ("replicas", "selector")
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
    """`obj` with the replicas, and the preconditions, of a Scale. Raises 400."""
    given = scale.get("metadata") or {}
    set_at(obj, declaration(resource).spec_replicas, _replicas(scale))
    for key in ("resourceVersion", "uid"):
        if given.get(key):
            obj["metadata"][key] = given[key]
    return obj


def replicas_intention(resource: Resource, scale: Object, namespace: str, name: str) -> Object:
    """What applying a Scale means for the object: its replicas, and nothing else. Raises 400."""
    intention: Object = {
        "apiVersion": str(resource.group_version(resource.storage_version)),
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": namespace},
    }
    if "replicas" in (scale.get("spec") or {}):
        set_at(intention, declaration(resource).spec_replicas, _replicas(scale))
    return intention


def prune_scale(scale: Object) -> list[str]:
    """Drop what a Scale does not have; gives the strict error texts for it. Raises 400 for what has another
    type than it has in a Scale."""
    _check_types(scale)
    unknown: list[str] = []
    for part, known in (("spec", _SPEC), ("status", _STATUS)):
        content = scale.get(part)
        if isinstance(content, dict):
            unknown += [f"{part}.{name}" for name in content if name not in known]
            scale[part] = {name: value for name, value in content.items() if name in known}
    for name in [name for name in scale if name not in _PARTS]:
        unknown.append(name)
        del scale[name]
    return [f'unknown field "{path}"' for path in unknown]


def _check_types(scale: Object) -> None:
    for part in ("metadata", "spec", "status"):
        if not isinstance(scale.get(part) or {}, dict):
            raise _of_wrong_type(part, "an object")
    for name in _KEPT:
        if not isinstance((scale.get("metadata") or {}).get(name), str | None):
            raise _of_wrong_type(f"metadata.{name}", "a string")


def _of_wrong_type(path: str, wanted: str) -> errors.APIError:
    return errors.bad_request(
        f'{KIND} in version "v1" cannot be handled as a {KIND}: {path} must be {wanted}'
    )


def _replicas(scale: Object) -> int:
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise _of_wrong_type("spec.replicas", "an integer")
    return replicas


def _count(obj: Object, path: str) -> int:
    value = value_at(obj, path)
    return value if isinstance(value, int) else 0
