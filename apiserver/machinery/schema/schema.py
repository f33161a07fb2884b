"""A structural schema with its compiled operations: the one thing that the rest of the server holds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from apiserver.machinery.field import FieldError
from apiserver.machinery.model import APIModel
from apiserver.machinery.schema.declare import schema_of_root
from apiserver.machinery.schema.node import OBJECT_META, Node, node_from_openapi

Object = dict[str, Any]


class Schema:
    """The schema of one version of a resource. Immutable; safe to share."""

    def __init__(self, openapi: Mapping[str, Any]) -> None:
        self._openapi = dict(openapi)

    @classmethod
    def from_model(cls, model: type[APIModel]) -> Schema:
        """The schema of objects of this model: its fields, and apiVersion, kind and metadata."""
        return cls(schema_of_root(model))

    @classmethod
    def from_openapi(cls, openapi: Mapping[str, Any]) -> Schema:
        """The schema that a CustomResourceDefinition would carry as openAPIV3Schema."""
        return cls(openapi)

    @property
    def openapi(self) -> Object:
        """The OpenAPI v3 structural schema. Not to be changed."""
        return self._openapi

    @cached_property
    def node(self) -> Node:
        """The shape of whole objects by field; metadata has the shape of ObjectMeta."""
        root = node_from_openapi(self._openapi)
        return Node(
            root.kind,
            root.type,
            fields={**root.fields, "metadata": OBJECT_META},
            additional=root.additional,
            preserve_unknown=root.preserve_unknown,
        )

    def prune(self, obj: Object) -> list[str]:
        """Remove unknown fields in place; return their paths, sorted."""
        return []

    def default(self, obj: Object) -> None:
        """Fill in defaults in place."""

    def validate(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Every error of the object."""
        return []
