"""The least of a server around a field manager: what kube-apiserver does with a custom resource besides."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from apiserver.machinery import objectmeta
from apiserver.machinery.errors import APIError
from apiserver.machinery.managedfields import FieldManager
from apiserver.machinery.schema import Schema

Object = dict[str, Any]
GROUP = "x.example.com"
ROOT: Object = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}


def widget_schemas() -> dict[str, Schema]:
    """The schemas of widget.yaml by version."""
    text = (Path(__file__).parent / "widget.yaml").read_text()
    found = {}
    for version in yaml.safe_load(text)["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        found[version["name"]] = Schema.from_openapi(
            {**schema, "properties": {**ROOT, **schema["properties"]}}
        )
    return found


def rename_version(obj: Object, _source: str, target: str) -> Object:
    """The conversion of a custom resource with strategy None."""
    return {**obj, "apiVersion": f"{GROUP}/{target}"}


def widget_manager(schemas: dict[str, Schema]) -> FieldManager:
    nodes = {name: schema.node for name, schema in schemas.items()}
    return FieldManager(GROUP, "Widget", nodes, rename_version)


class Server:
    """Holds one object."""

    def __init__(self, schemas: dict[str, Schema], fields: FieldManager) -> None:
        self.schemas = schemas
        self.fields = fields
        self.live: Object | None = None
        self.clock = 0

    def create(self, obj: Object, manager: str, version: str) -> Object:
        self._take_in(obj, version)
        self.fields.update(None, obj, manager=manager, version=version, now=self._now())
        obj.pop("status", None)
        return self._store(obj)

    def put(self, obj: Object, manager: str, version: str, subresource: str) -> Object:
        live = self._read(version)
        self._take_in(obj, version)
        self.fields.update(
            live, obj, manager=manager, version=version, subresource=subresource, now=self._now()
        )
        return self._store(self._strategy(obj, live, subresource))

    def apply(self, patch: Object, manager: str, version: str, subresource: str, force: bool) -> Object:
        live = self._read(version) if self.live else None
        merged = self.fields.apply(
            live,
            patch,
            manager=manager,
            version=version,
            subresource=subresource,
            force=force,
            now=self._now(),
        )
        merged = copy.deepcopy(merged)
        self._take_in(merged, version)
        if live is None:
            merged.pop("status", None)
            return self._store(merged)
        return self._store(self._strategy(merged, live, subresource))

    def _now(self) -> str:
        self.clock += 1
        return f"2026-01-01T00:{self.clock // 60:02}:{self.clock % 60:02}Z"

    def _read(self, version: str) -> Object:
        assert self.live is not None
        return copy.deepcopy({**self.live, "apiVersion": f"{GROUP}/{version}"})

    def _take_in(self, obj: Object, version: str) -> None:
        objectmeta.coerce(obj)
        self.schemas[version].prune(obj)
        self.schemas[version].default(obj)

    def _strategy(self, obj: Object, live: Object, subresource: str) -> Object:
        if subresource == "status":
            kept = {**live, "metadata": dict(live["metadata"])}
            kept["metadata"].pop("managedFields", None)
            if "managedFields" in obj["metadata"]:
                kept["metadata"]["managedFields"] = obj["metadata"]["managedFields"]
            kept.pop("status", None)
            return {**kept, "status": obj["status"]} if "status" in obj else kept
        obj.pop("status", None)
        return {**obj, "status": live["status"]} if "status" in live else obj

    def _store(self, obj: Object) -> Object:
        version = obj["apiVersion"]
        stored = copy.deepcopy({**obj, "apiVersion": f"{GROUP}/v1"})
        self.schemas["v1"].default(stored)
        errors = self.schemas["v1"].validate(stored)
        if errors:
            raise APIError(422, "Invalid", str(errors[0]))
        stored["metadata"]["uid"] = "uid"
        self.live = stored
        return copy.deepcopy({**stored, "apiVersion": version})
