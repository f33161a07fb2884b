"""A resource is declared once. Routes, discovery, OpenAPI, tables, validation and watch are derived from it.

It lies in machinery so that `apis` may declare resources; it must not know who serves or stores them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from apiserver.machinery.gvk import GroupResource, GroupVersion, GroupVersionKind
from apiserver.machinery.model import APIModel
from apiserver.machinery.schema import Schema
from apiserver.machinery.strategy import Strategy
from apiserver.machinery.table import Column

Object = dict[str, Any]
Convert = Callable[[Object], Object]

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_VERBS = ("get", "list", "watch")


@dataclass(frozen=True)
class Version:
    """One version of a resource. The conversions lead to and from the storage version and never change their
    argument; the storage version itself has none."""

    name: str
    model: type[APIModel]
    columns: tuple[Column, ...] = ()
    to_storage: Convert | None = None
    from_storage: Convert | None = None
    served: bool = True

    @cached_property
    def schema(self) -> Schema:
        """The structural schema of the model."""
        return Schema.from_model(self.model)


@dataclass(frozen=True)
class Scale:
    """The paths that /scale maps, in the notation of CRDs (`.spec.replicas`)."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@dataclass(frozen=True)
class Resource:
    """The declaration of a resource. `versions` go from the most to the least preferred one."""

    group: str
    kind: str
    plural: str
    versions: tuple[Version, ...]
    storage_version: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    strategy: Strategy = field(default_factory=Strategy)
    selectable_fields: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    status: bool = True
    scale: Scale | None = None
    actions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def list_kind(self) -> str:
        """The kind of a list of these objects."""
        return f"{self.kind}List"

    @property
    def singular_name(self) -> str:
        """The declared singular, or the kind in lower case."""
        return self.singular or self.kind.lower()

    @property
    def group_resource(self) -> GroupResource:
        """The name of the resource in messages and permissions."""
        return GroupResource(self.group, self.plural)

    def group_version(self, version: str) -> GroupVersion:
        """The group with one of the versions."""
        return GroupVersion(self.group, version)

    def gvk(self, version: str) -> GroupVersionKind:
        """The kind in one of the versions."""
        return GroupVersionKind(self.group, version, self.kind)

    @cached_property
    def by_version(self) -> dict[str, Version]:
        """The versions by name."""
        return {version.name: version for version in self.versions}

    def convert(self, obj: Object, source: str, target: str) -> Object:
        """Convert between two versions by way of the storage version; `obj` itself when nothing is to do."""
        if source == target:
            return obj
        to_storage = self.by_version[source].to_storage
        stored = to_storage(obj) if to_storage else obj
        from_storage = self.by_version[target].from_storage
        return from_storage(stored) if from_storage else stored
