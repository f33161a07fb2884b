"""InferenceJob between v1, which is stored, and v1alpha1, which old clients use. Nothing is lost either way.

What v1 says and v1alpha1 has no field for travels in the annotation `ai.example.com/v1-fields`. Only the
conversion writes it: it is taken off on the way to v1 and written anew on the way back, so what a client puts
there counts no more than the fields themselves. A value that v1's schema would refuse is ignored.

The functions take objects of any shape and never change their argument; the result shares the parts that stay
as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from apiserver.apis.ai.shared import LABEL_VALUE_PATTERN
from apiserver.apis.ai.v1 import DEFAULT_REPLICAS, MAX_GPU_PRODUCTS, MAX_REPLICAS

Object = dict[str, Any]

CARRIER = "ai.example.com/v1-fields"
"""The annotation of v1alpha1 objects that carries the fields which only v1 has, as a JSON object."""

_LABEL_VALUE = re.compile(LABEL_VALUE_PATTERN.removesuffix("$") + r"\Z")


def v1alpha1_to_v1(obj: Object) -> Object:
    """The v1 form of a v1alpha1 object; `replicas` and further products come from the annotation."""
    carried = _carried(obj)
    result = _relabelled(_without_carrier(obj), "v1")
    spec = obj.get("spec")
    if isinstance(spec, dict):
        result["spec"] = _spec_to_v1(spec, carried)
    return result


def v1_to_v1alpha1(obj: Object) -> Object:
    """The v1alpha1 form of a v1 object; what v1alpha1 lacks goes into the annotation."""
    result = _relabelled(_without_carrier(obj), "v1alpha1")
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return result
    result["spec"], lost = _spec_to_v1alpha1(spec)
    if lost:
        text = orjson.dumps(lost, option=orjson.OPT_SORT_KEYS).decode()
        metadata = _dict(result.get("metadata"))
        annotations = _dict(metadata.get("annotations"))
        result["metadata"] = {**metadata, "annotations": {**annotations, CARRIER: text}}
    return result


def without_carrier(obj: Object) -> None:
    """Take the annotation off an object in place; an empty map of annotations goes with it."""
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and CARRIER in annotations:
        del annotations[CARRIER]
        if not annotations:
            del obj["metadata"]["annotations"]


def _spec_to_v1(spec: Object, carried: Object) -> Object:
    result = {key: value for key, value in spec.items() if key not in _ONLY_IN_V1ALPHA1 | _ONLY_IN_V1}
    if "gpus" in spec:
        result["gpuCount"] = spec["gpus"]
    result["replicas"] = carried.get("replicas", DEFAULT_REPLICAS)
    products = _products(spec.get("gpuType"), carried.get("gpuProducts"))
    if products is not None:
        result["gpuProducts"] = products
    return result


def _spec_to_v1alpha1(spec: Object) -> tuple[Object, Object]:
    """The v1alpha1 spec, and the v1 fields that the way back would not restore from it."""
    result = {key: value for key, value in spec.items() if key not in _ONLY_IN_V1ALPHA1 | _ONLY_IN_V1}
    if "gpuCount" in spec:
        result["gpus"] = spec["gpuCount"]
    products = spec.get("gpuProducts")
    if isinstance(products, list) and products:
        result["gpuType"] = products[0]
    restored = _spec_to_v1(result, {})
    lost = {key: spec[key] for key in _CARRIED if key in spec and spec[key] != restored.get(key)}
    return result, lost


def _products(first: Any, carried: list[str] | None) -> list[Any] | None:
    """The products of v1. A client that changed `gpuType` meant what it wrote: the carried list is void."""
    if carried is not None and (carried[0] if carried else None) == first:
        return carried
    return None if first is None else [first]


def _carried(obj: Object) -> Object:
    """The fields in the annotation that v1 would accept."""
    text = _dict(_dict(obj.get("metadata")).get("annotations")).get(CARRIER)
    if not isinstance(text, str):
        return {}
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return {key: value for key, value in _dict(fields).items() if key in _CARRIED and _CARRIED[key](value)}


def _is_replicas(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_REPLICAS


def _is_products(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > MAX_GPU_PRODUCTS:
        return False
    good = all(isinstance(item, str) and 0 < len(item) <= 63 and _LABEL_VALUE.match(item) for item in value)
    return good and len(set(value)) == len(value)


_CARRIED: dict[str, Callable[[Any], bool]] = {"gpuProducts": _is_products, "replicas": _is_replicas}
_ONLY_IN_V1 = frozenset({"gpuCount", *_CARRIED})
_ONLY_IN_V1ALPHA1 = frozenset({"gpus", "gpuType"})


def _without_carrier(obj: Object) -> Object:
    """The object with its own `metadata` and `annotations`, without the annotation; the rest is shared."""
    result = dict(obj)
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("annotations"), dict):
        result["metadata"] = {**metadata, "annotations": dict(metadata["annotations"])}
        without_carrier(result)
    return result


def _relabelled(obj: Object, version: str) -> Object:
    obj["apiVersion"] = f"ai.example.com/{version}"
    return obj


def _dict(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
