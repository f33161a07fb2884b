"""Which paths a resource has, and what can be done there: the part that all versions of OpenAPI share.

Paths, operation ids and actions are those that kube-apiserver 1.36 publishes for a CustomResourceDefinition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from apiserver.machinery.gvk import GroupVersion, GroupVersionKind
from apiserver.machinery.openapi.meta import AUTOSCALING, META
from apiserver.machinery.openapi.parameters import (
    DELETE,
    LIST,
    NAMESPACE,
    PATCH,
    PRETTY,
    READ,
    WRITE,
    Parameter,
    name_of,
)
from apiserver.machinery.resource import Resource

SCALE = f"{AUTOSCALING}.Scale"
STATUS = f"{META}.Status"
PATCH_BODY = f"{META}.Patch"
DELETE_BODY = f"{META}.DeleteOptions"
ANYTHING = ""
"""In place of a model's name: any JSON object."""

JSON_TYPES = ("application/json", "application/yaml")
PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path. `body` and the answer are names of models."""

    method: str
    action: str
    id: str
    description: str
    answer: str
    codes: tuple[int, ...]
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None
    body_required: bool = True

    @property
    def consumes(self) -> tuple[str, ...]:
        """The media types of the body."""
        return PATCH_TYPES if self.action == "patch" else JSON_TYPES


@dataclass(frozen=True, slots=True)
class PathItem:
    """One path with its operations, all about the same kind."""

    path: str
    gvk: GroupVersionKind
    parameters: tuple[Parameter, ...]
    operations: tuple[Operation, ...]


def model_name(gvk: GroupVersionKind) -> str:
    """The dotted name of a kind's model: `com.example.ai.v1.InferenceJob`. It never holds a slash."""
    group = ".".join(reversed(gvk.group.split("."))) if gvk.group else "io.k8s.api.core"
    return f"{group}.{gvk.version}.{gvk.kind}"


def tag(group_version: GroupVersion) -> str:
    """The tag of all operations of a group version: `aiExampleCom_v1`."""
    camel = _camel(group_version.group or "core")
    return f"{camel[0].lower()}{camel[1:]}_{group_version.version}"


def _camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split("[^A-Za-z0-9]+", text))


class _Names:
    """Operation ids of one resource in one version: verb, group, version, scope, kind, suffix."""

    def __init__(self, resource: Resource, group_version: GroupVersion) -> None:
        self._stem = _camel(group_version.group or "core") + _camel(group_version.version)
        self._kind = ("Namespaced" if resource.namespaced else "") + resource.kind
        self._plain = resource.kind

    def of(self, verb: str, suffix: str = "") -> str:
        return f"{verb}{self._stem}{self._kind}{suffix}"

    def collection(self) -> str:
        return f"delete{self._stem}Collection{self._kind}"

    def everywhere(self) -> str:
        return f"list{self._stem}{self._plain}ForAllNamespaces"


def paths_of(resource: Resource, version: str) -> Iterator[PathItem]:
    """The paths of a resource in one version, each with at least one operation."""
    gvk = resource.gvk(version)
    base = gvk.group_version.path
    names = _Names(resource, gvk.group_version)
    scope = (NAMESPACE,) if resource.namespaced else ()
    prefix = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
    collection = f"{prefix}/{resource.plural}"
    one = f"{collection}/{{name}}"
    named = (name_of(resource.kind), *scope, PRETTY)
    items = [
        PathItem(collection, gvk, (*scope, PRETTY), tuple(_on_collection(resource, gvk, names))),
        PathItem(one, gvk, named, tuple(_on_object(resource, gvk, names))),
    ]
    if resource.status:
        items.append(
            PathItem(f"{one}/status", gvk, named, _on_part(resource, "status", model_name(gvk), names))
        )
    if resource.scale is not None:
        items.append(PathItem(f"{one}/scale", gvk, named, _on_part(resource, "scale", SCALE, names)))
    items += (
        PathItem(f"{one}/{action}", gvk, named, (_action(resource, action, names),))
        for action in resource.actions
    )
    if resource.namespaced and "list" in resource.verbs:
        everywhere = _list(resource, gvk, names.everywhere(), ())
        parameters = tuple(sorted((*LIST, PRETTY), key=lambda parameter: parameter.name))
        items.append(PathItem(f"{base}/{resource.plural}", gvk, parameters, (everywhere,)))
    return (item for item in items if item.operations)


def _list(
    resource: Resource, gvk: GroupVersionKind, operation_id: str, parameters: tuple[Parameter, ...]
) -> Operation:
    model = model_name(GroupVersionKind(gvk.group, gvk.version, resource.list_kind))
    return Operation(
        "get", "list", operation_id, f"list objects of kind {resource.kind}", model, (200,), parameters
    )


def _on_collection(resource: Resource, gvk: GroupVersionKind, names: _Names) -> Iterator[Operation]:
    kind, model = resource.kind, model_name(gvk)
    if "list" in resource.verbs:
        yield _list(resource, gvk, names.of("list"), LIST)
    if "create" in resource.verbs:
        codes = (200, 201, 202)
        yield Operation("post", "post", names.of("create"), f"create a {kind}", model, codes, WRITE, model)
    if "deletecollection" in resource.verbs:
        about = f"delete collection of {kind}"
        yield Operation("delete", "deletecollection", names.collection(), about, STATUS, (200,), LIST)


def _on_object(resource: Resource, gvk: GroupVersionKind, names: _Names) -> Iterator[Operation]:
    kind, model = resource.kind, model_name(gvk)
    if "get" in resource.verbs:
        yield Operation("get", "get", names.of("read"), f"read the specified {kind}", model, (200,), READ)
    if "update" in resource.verbs:
        about = f"replace the specified {kind}"
        yield Operation("put", "put", names.of("replace"), about, model, (200, 201), WRITE, model)
    if "delete" in resource.verbs:
        about = f"delete a {kind}"
        operation_id, codes = names.of("delete"), (200, 202)
        yield Operation(
            "delete", "delete", operation_id, about, STATUS, codes, DELETE, DELETE_BODY, body_required=False
        )
    if "patch" in resource.verbs:
        about = f"partially update the specified {kind}"
        yield Operation("patch", "patch", names.of("patch"), about, model, (200,), PATCH, PATCH_BODY)


def _on_part(resource: Resource, part: str, model: str, names: _Names) -> tuple[Operation, ...]:
    """Operations on /status and /scale: to read, replace and patch, whatever can be
    done to the object itself.
    """
    of, suffix = f"{part} of the specified {resource.kind}", _camel(part)
    return (
        Operation("get", "get", names.of("read", suffix), f"read {of}", model, (200,), READ),
        Operation(
            "put", "put", names.of("replace", suffix), f"replace {of}", model, (200, 201), WRITE, model
        ),
        Operation(
            "patch",
            "patch",
            names.of("patch", suffix),
            f"partially update {of}",
            model,
            (200,),
            PATCH,
            PATCH_BODY,
        ),
    )


def _action(resource: Resource, action: str, names: _Names) -> Operation:
    about = f"create {action} of a {resource.kind}"
    operation_id = names.of("create", _camel(action))
    return Operation("post", "post", operation_id, about, ANYTHING, (200, 201, 202), WRITE, ANYTHING)
