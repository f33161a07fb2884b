"""Strategic merge patches for the simulated kinds, as merge patches.

kubectl's `apply`, `edit`, `cordon` and `taint` send them to kinds that are built into Kubernetes. What makes
them strategic are lists that are merged item by item; here the live object is at hand, so such a list is
written out whole and a plain merge patch is left over. Merge keys are those of the `patchMergeKey` tags in
k8s.io/api 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

MERGE_KEYS: Mapping[str, str] = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "hostIPs": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""Of lists of objects that are merged; all others are replaced."""
MERGED_PRIMITIVES = frozenset({"finalizers", "podCIDRs"})

_PATCH, _RETAIN, _ORDER, _DELETE = (
    "$patch",
    "$retainKeys",
    "$setElementOrder/",
    "$deleteFromPrimitiveList/",
)


def as_merge_patch(live: Any, patch: Object) -> Object:
    """The merge patch that does to `live` what the strategic one says. Raises ValueError for a directive or a
    list item that makes no sense."""
    base: Object = live if isinstance(live, dict) else {}
    kind = patch.get(_PATCH)
    if kind not in (None, "merge", "replace", "delete"):
        raise ValueError(f"unknown {_PATCH} directive {kind!r}")
    given = {key: value for key, value in patch.items() if not key.startswith("$")}
    out: Object = {}
    if kind in ("replace", "delete"):
        out.update(dict.fromkeys(base))
        return out if kind == "delete" else {**out, **given}
    retained = patch.get(_RETAIN)
    if retained is not None:
        out.update(dict.fromkeys(key for key in base if key not in retained))
    for key in dict.fromkeys([*given, *_fields_of_directives(patch)]):
        if key in given and not isinstance(given[key], dict | list):
            out[key] = given[key]
        elif isinstance(given.get(key), dict):
            out[key] = as_merge_patch(base.get(key), given[key])
        else:
            out[key] = _merge_list(key, base.get(key), patch)
    return out


def _fields_of_directives(patch: Object) -> list[str]:
    return [
        key.removeprefix(prefix) for key in patch for prefix in (_ORDER, _DELETE) if key.startswith(prefix)
    ]


def _merge_list(key: str, live: Any, patch: Object) -> list[Any]:
    changes, base = patch.get(key) or [], live if isinstance(live, list) else []
    order = patch.get(_ORDER + key)
    merge_key = MERGE_KEYS.get(key)
    if merge_key is not None and all(isinstance(item, dict) for item in changes):
        return _merge_objects(merge_key, base, changes, order)
    if key in MERGED_PRIMITIVES:
        gone = patch.get(_DELETE + key) or []
        merged = list(dict.fromkeys([*(item for item in base if item not in gone), *changes]))
        return _in_order(merged, order, lambda item: item)
    return list(changes)


def _merge_objects(merge_key: str, base: list[Any], changes: list[Object], order: Any) -> list[Any]:
    if any(item.get(_PATCH) == "replace" for item in changes):
        return [item for item in changes if _PATCH not in item]
    merged = {item.get(merge_key): item for item in base}
    for item in changes:
        name = item.get(merge_key)
        if name is None:
            raise ValueError(f"an item lacks its merge key {merge_key!r}")
        if item.get(_PATCH) == "delete":
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name, {}), item)
    keys = None if order is None else [item.get(merge_key) for item in order]
    return _in_order(list(merged.values()), keys, lambda item: item.get(merge_key))


def _in_order(items: list[Any], order: list[Any] | None, name: Any) -> list[Any]:
    if order is None:
        return items
    place = {value: index for index, value in enumerate(order)}
    return sorted(items, key=lambda item: place.get(name(item), len(place)))


def _merged(live: Object, patch: Object) -> Object:
    """The item that the patch makes of `live`: inside of a list nothing is left to merge later."""
    return _apply(live, as_merge_patch(live, patch))


def _apply(live: Any, change: Object) -> Object:
    out: Object = dict(live) if isinstance(live, dict) else {}
    for key, value in change.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = _apply(out.get(key), value) if isinstance(value, dict) else value
    return out
