"""Rules of an InferenceJob that take more than one field, or map keys, and so do not fit into its schema.

Texts about tolerations and variables are those of `k8s.io/kubernetes/pkg/apis/core/validation`, for they are
about the same things. The object has passed its schema before: types are as declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.apis.ai.pod_template import template_errors
from apiserver.machinery import field
from apiserver.machinery.field import FieldError, Path
from apiserver.machinery.objectmeta.names import label_key, label_value
from apiserver.machinery.objectmeta.validation import validate_labels
from apiserver.machinery.quantity import Quantity

Object = dict[str, Any]

SPEC = Path("spec")
MODEL_VARIABLE = "INFERENCE_MODEL"
"""The variable in which the container gets `spec.model`."""
MAX_NAME = 63

_NATIVE_RESOURCES = ("cpu", "memory", "ephemeral-storage")


def validate_job(obj: Object) -> list[FieldError]:
    """Every broken rule of a job by itself."""
    spec = obj["spec"]
    return [
        *_name(obj),
        *_gpu_resource(spec),
        *_resources(spec),
        *_env(spec),
        *_node_selector(spec),
        *_tolerations(spec),
        *_scratch(spec),
        *template_errors(SPEC.child("podTemplate"), spec),
    ]


def _name(obj: Object) -> Iterator[FieldError]:
    """Pods carry the job's name in a label."""
    name = obj["metadata"].get("name", "")
    if len(name) > MAX_NAME:
        yield field.invalid(Path("metadata.name"), name, f"must be no more than {MAX_NAME} characters")


def _gpu_resource(spec: Object) -> Iterator[FieldError]:
    name = spec["gpuResource"]
    domain = name.partition("/")[0]
    if domain == "kubernetes.io" or domain.endswith(".kubernetes.io") or domain.startswith("requests."):
        yield field.invalid(
            SPEC.child("gpuResource"),
            name,
            "must be an extended resource, outside of the kubernetes.io domain",
        )


def _resources(spec: Object) -> Iterator[FieldError]:
    path = SPEC.child("resources")
    for name, quantity in (spec.get("resources") or {}).items():
        at = path.key(name)
        if name == spec["gpuResource"]:
            yield field.forbidden(at, "the number of GPUs is given by spec.gpuCount")
        elif "/" not in name and name not in _NATIVE_RESOURCES and not name.startswith("hugepages-"):
            yield field.invalid(at, name, "must be a standard resource type or fully qualified")
        else:
            for problem in label_key(name):
                yield field.invalid(at, name, problem)
        if Quantity.parse(quantity) < Quantity():
            yield field.invalid(at, str(quantity), "must be greater than or equal to 0")


def _env(spec: Object) -> Iterator[FieldError]:
    for position, variable in enumerate(spec.get("env") or ()):
        path = SPEC.child("env").index(position)
        if variable["name"] == MODEL_VARIABLE and spec.get("model"):
            yield field.forbidden(path.child("name"), f"{MODEL_VARIABLE} is set from spec.model")
        source = variable.get("valueFrom")
        if source is None:
            continue
        members = len(source)
        if members == 0:
            yield field.invalid(
                path.child("valueFrom"),
                "",
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
            )
        elif variable.get("value"):
            yield field.invalid(path.child("valueFrom"), "", "may not be specified when `value` is not empty")
        elif members > 1:
            yield field.invalid(
                path.child("valueFrom"), "", "may not have more than one field specified at a time"
            )


def _node_selector(spec: Object) -> Iterator[FieldError]:
    yield from validate_labels(spec.get("nodeSelector") or {}, SPEC.child("nodeSelector"))


def _tolerations(spec: Object) -> Iterator[FieldError]:
    for position, toleration in enumerate(spec.get("tolerations") or ()):
        path = SPEC.child("tolerations").index(position)
        key, operator = toleration.get("key", ""), toleration.get("operator", "Equal")
        if key:
            for problem in label_key(key):
                yield field.invalid(path.child("key"), key, problem)
        elif operator != "Exists":
            yield field.invalid(
                path.child("operator"),
                operator,
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        yield from _toleration_value(path, operator, toleration.get("value", ""))
        if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
            yield field.invalid(
                path.child("effect"),
                toleration.get("effect", ""),
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )


def _toleration_value(path: Path, operator: str, value: str) -> Iterator[FieldError]:
    if operator == "Exists" and value:
        yield field.invalid(path.child("operator"), value, "value must be empty when `operator` is 'Exists'")
    if operator == "Equal":
        problems = label_value(value)
        if problems:
            yield field.invalid(path.child("operator"), value, ";".join(problems))


def _scratch(spec: Object) -> Iterator[FieldError]:
    size = (spec.get("scratch") or {}).get("size")
    if size is not None and Quantity.parse(size) <= Quantity():
        yield field.invalid(SPEC.child("scratch", "size"), str(size), "must be greater than zero")
