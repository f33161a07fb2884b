"""The rules that an object must keep, gathered from metadata, schema, subresources and strategy, in
upstream's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.machinery import errors, objectmeta
from apiserver.machinery.field import FieldError, Path, invalid
from apiserver.machinery.gotext import go_type, plain
from apiserver.machinery.gvk import GroupVersion
from apiserver.machinery.resource import Resource
from apiserver.registry.hooks import Caller

Object = dict[str, Any]
MAX_INT32 = 2**31 - 1


def check_create(resource: Resource, version: str, obj: Object, stored: Object) -> None:
    """Judge a new object: `obj` in the version of the request, `stored` in the storage version.
    Raises 422."""
    found = _type_errors(resource, version, obj)
    if not found:
        found = [
            *objectmeta.validate_create(obj["metadata"], namespaced=resource.namespaced),
            *resource.by_version[version].schema.validate(obj),
            *_scale_errors(resource, stored),
        ]
        if not found:
            found = [*_storage_errors(resource, version, stored), *resource.strategy.validate(stored)]
    reject(obj, found)


def check_update(
    resource: Resource, version: str, obj: Object, old: Object, stored: Object, stored_old: Object
) -> None:
    """Judge a changed object against the one before. Raises 422."""
    found = _metadata_errors(resource, obj, old)
    found.extend(
        _type_errors(resource, version, obj)
        or [
            *objectmeta.validate_update(obj["metadata"], old["metadata"]),
            *resource.by_version[version].schema.validate(obj, old),
            *_scale_errors(resource, stored),
        ]
    )
    if not found:
        found = [
            *_storage_errors(resource, version, stored, stored_old),
            *_new_rule_errors(resource, stored, stored_old),
        ]
    reject(obj, found)


def _new_rule_errors(resource: Resource, stored: Object, stored_old: Object) -> list[FieldError]:
    """What a change breaks of the strategy's rules. What was wrong before, to the letter, may stay: an object
    that was stored before a rule got stricter can still be changed elsewhere, as the schema allows it too."""
    found = resource.strategy.validate_update(stored, stored_old)
    if not found:
        return []
    known = {str(error) for error in resource.strategy.validate(stored_old)}
    return [error for error in found if str(error) not in known]


def check_status_update(
    resource: Resource, version: str, obj: Object, old: Object, stored: Object, stored_old: Object
) -> None:
    """Judge a changed status. Raises 422."""
    found = [
        *_metadata_errors(resource, obj, old),
        *objectmeta.validate_update(obj["metadata"], old["metadata"]),
        *resource.by_version[version].schema.validate_status(obj, old),
        *_scale_errors(resource, stored),
    ]
    if not found:
        found = [
            *_storage_errors(resource, version, stored, stored_old),
            *resource.strategy.validate_status_update(stored, stored_old),
        ]
    reject(obj, found)


def _metadata_errors(resource: Resource, obj: Object, old: Object) -> list[FieldError]:
    """What upstream checks of every update, before the strategy of custom resources checks a part of it
    again: such errors are reported twice, and clients count causes."""
    return [
        *objectmeta.validate_create(obj["metadata"], namespaced=resource.namespaced),
        *objectmeta.validate_update(obj["metadata"], old["metadata"]),
    ]


def reject(obj: Object, found: Sequence[FieldError]) -> None:
    """Raise 422 with everything that was found, if anything."""
    if found:
        name = obj["metadata"].get("name") or ""
        kind, api_version = obj.get("kind") or "", obj.get("apiVersion") or ""
        group = GroupVersion.parse(api_version).group
        raise errors.invalid(kind, group, name, found)


def warn_of_finalizers(obj: Object, old: Object | None, caller: Caller) -> None:
    """Advise against finalizer names without a domain, as for custom resources."""
    before = set((old or {}).get("metadata", {}).get("finalizers") or ())
    for name in sorted(set(obj["metadata"].get("finalizers") or ()) - before):
        for sentence in objectmeta.finalizer_warnings(name):
            caller.warn(sentence)


def _type_errors(resource: Resource, version: str, obj: Object) -> list[FieldError]:
    found: list[FieldError] = []
    expected = str(resource.group_version(version))
    if obj.get("kind") != resource.kind:
        found.append(invalid(Path("kind"), obj.get("kind", ""), f"must be {resource.kind}"))
    if obj.get("apiVersion") != expected:
        found.append(invalid(Path("apiVersion"), obj.get("apiVersion", ""), f"must be {expected}"))
    return found


def _storage_errors(
    resource: Resource, version: str, stored: Object, stored_old: Object | None = None
) -> list[FieldError]:
    """What the conversion of a request in another version may have brought past that version's schema."""
    if version == resource.storage_version:
        return []
    return resource.by_version[resource.storage_version].schema.validate(stored, stored_old)


def _scale_errors(resource: Resource, obj: Object) -> list[FieldError]:
    if resource.scale is None:
        return []
    found: list[FieldError] = []
    for path in (resource.scale.spec_replicas, resource.scale.status_replicas):
        value, problem = _integer_at(obj, path)
        if problem:
            found.append(invalid(Path(path), 0, problem))
        elif value < 0:
            found.append(invalid(Path(path), value, "should be a non-negative integer"))
        elif value > MAX_INT32:
            found.append(invalid(Path(path), value, f"should be less than or equal to {MAX_INT32}"))
    return found


def _integer_at(obj: Object, path: str) -> tuple[int, str]:
    """The integer at a path (0 where there is none), or what is wrong on the way in Go's words."""
    value: Any = obj
    parts = path.strip(".").split(".")
    for position, part in enumerate(parts):
        value = value.get(part)
        if value is None:
            return 0, ""
        expected = dict if position < len(parts) - 1 else int
        if not isinstance(value, expected) or isinstance(value, bool):
            wanted = "map[string]interface{}" if expected is dict else "int64"
            return (
                0,
                f"{path} accessor error: {plain(value)} is of the type {go_type(value)}, expected {wanted}",
            )
    return value, ""
