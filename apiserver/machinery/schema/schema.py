"""A structural schema with its compiled operations: the one thing that the rest of the server holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from apiserver.machinery.field import FieldError
from apiserver.machinery.model import APIModel
from apiserver.machinery.schema.declare import schema_of_root
from apiserver.machinery.schema.default import compile_default
from apiserver.machinery.schema.embedded import compile_embedded
from apiserver.machinery.schema.lists import compile_uniqueness
from apiserver.machinery.schema.node import OBJECT_META, Node, node_from_openapi
from apiserver.machinery.schema.prune import compile_prune
from apiserver.machinery.schema.quick import compile_quick
from apiserver.machinery.schema.ratchet import UNKNOWN
from apiserver.machinery.schema.rules import NOWHERE
from apiserver.machinery.schema.validate import compile_check

Object = dict[str, Any]


def _below_status(path: str) -> str:
    return "status" if path == NOWHERE else f"status.{path}"


class Schema:
    """The schema of one version of a resource. Immutable; safe to share.

    Raises TypeError when made from a schema with keywords that structural schemas of ours do not use
    (allOf, CEL rules and the like).
    """

    def __init__(self, openapi: Mapping[str, Any]) -> None:
        self._openapi = dict(openapi)
        self._prune = compile_prune(openapi, root=True)
        self._default = compile_default(openapi)
        self._default_applied = compile_default(openapi, keep_nulls=True)
        self._quick = compile_quick(openapi)
        self._check = compile_check(openapi)
        self._embedded = compile_embedded(openapi)
        self._uniqueness = compile_uniqueness(openapi)
        status = openapi.get("properties", {}).get("status")
        self._check_status = compile_check(status) if status is not None else None

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
        """Remove unknown fields in place; return their paths (`spec.env[0].bar`), sorted."""
        unknown: list[str] = []
        self._prune(obj, "", unknown)
        unknown.sort()
        return unknown

    def default(self, obj: Object) -> None:
        """Fill in defaults in place, and remove nulls where null is not a value."""
        self._default(obj)

    def default_applied(self, obj: Object) -> None:
        """Fill in defaults in place after a server-side apply:
        a null without a default stays, as an error."""
        self._default_applied(obj)

    def validate(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Every error of the object. With the `old` object: without those of values that did not change."""
        return [] if self._quick(obj) else self.explain(obj, old)

    def explain(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """The same as `validate`, without the quick test that spares valid objects the complete check."""
        errors: list[FieldError] = []
        self._check(obj, UNKNOWN if old is None else old, "", errors)
        if self._embedded is not None:
            self._embedded(obj, "", errors)
        return errors + self._duplicates(obj, old)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        """Every error of `status` alone, as an update of /status is checked.

        Texts then name fields below status (`count in body ...`) and paths the whole way (`status.count`).
        """
        errors: list[FieldError] = []
        if "status" in obj and self._check_status is not None:
            self._check_status(obj["status"], old.get("status", UNKNOWN), "", errors)
        below = [replace(error, path=_below_status(error.path)) for error in errors]
        return below + self._duplicates(obj, old)

    def _duplicates(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Repeated items of sets and maps; an object that had some already may keep them."""
        if self._uniqueness is None:
            return []
        errors: list[FieldError] = []
        self._uniqueness(obj, "", errors)
        if errors and old is not None:
            before: list[FieldError] = []
            self._uniqueness(old, "", before)
            if before:
                return []
        return errors
