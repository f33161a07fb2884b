"""The forms in which objects are sent: whole, as metadata alone, or as rows of a table.

Each form turns the bytes that the cache holds into the bytes that go out. The storage version in JSON is
the fast path:
nothing is parsed and nothing encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import orjson

from apiserver.machinery.resource import Resource
from apiserver.machinery.table import Column, column_definitions, row_cells

Object = dict[str, Any]
META_V1 = "meta.k8s.io/v1"


class Encoded(Protocol):
    """An object of the storage version as bytes, which are parsed only where a form needs it."""

    @property
    def encoded(self) -> bytes:
        """JSON with the resourceVersion in it."""
        ...

    def decode(self) -> Object:
        """A fresh copy of the object."""
        ...


class Representation(Protocol):
    """One form. `key` tells forms apart where encodings are kept for several readers."""

    key: tuple[str, ...]

    def item(self, view: Encoded) -> bytes:
        """The object as it stands in a list of this form."""
        ...

    def single(self, view: Encoded) -> bytes:
        """The object on its own."""
        ...

    def event(self, view: Encoded, *, first: bool = False) -> bytes:
        """The object as it stands in a watch event; `first` on the first event of a stream."""
        ...

    def bookmark(self, revision: int, annotations: dict[str, str]) -> bytes:
        """An object that carries nothing but a revision."""
        ...

    def collection(self, items: Iterable[bytes], metadata: Object) -> bytes:
        """A list."""
        ...


class Whole:
    """Objects as they are, in one of the served versions."""

    def __init__(self, resource: Resource, version: str) -> None:
        self._resource = resource
        self._version = version
        self._as_stored = version == resource.storage_version
        self.key: tuple[str, ...] = ("whole", version)

    def _of_kind(self, kind: str) -> Object:
        return {"kind": kind, "apiVersion": str(self._resource.group_version(self._version))}

    def decoded(self, view: Encoded) -> Object:
        """The object in this version."""
        return self._resource.convert(view.decode(), self._resource.storage_version, self._version)

    def item(self, view: Encoded) -> bytes:
        """The object's bytes."""
        return view.encoded if self._as_stored else orjson.dumps(self.decoded(view))

    single = item

    def event(self, view: Encoded, *, first: bool = False) -> bytes:  # noqa: ARG002 - of the Protocol
        """The object's bytes."""
        return self.item(view)

    def bookmark(self, revision: int, annotations: dict[str, str]) -> bytes:
        """An empty object of the kind."""
        metadata = _bookmark_metadata(revision, annotations)
        return orjson.dumps({**self._of_kind(self._resource.kind), "metadata": metadata})

    def collection(self, items: Iterable[bytes], metadata: Object) -> bytes:
        """A list of the kind; custom resources show an empty `continue` where there is none."""
        kind = self._of_kind(self._resource.list_kind)
        return join_list(kind, {"continue": "", **metadata}, b"items", items)


class PartialMetadata:
    """Metadata alone: `PartialObjectMetadata` and its list."""

    def __init__(self, whole: Whole, version: str = "v1") -> None:
        self._whole = whole
        self._api_version = f"meta.k8s.io/{version}"
        self.key: tuple[str, ...] = ("metadata", *whole.key, version)

    def item(self, view: Encoded) -> bytes:
        """The metadata under its own kind."""
        return orjson.dumps(partial(self._whole.decoded(view), self._api_version))

    single = item

    def event(self, view: Encoded, *, first: bool = False) -> bytes:  # noqa: ARG002 - of the Protocol
        """The metadata under its own kind."""
        return self.item(view)

    def bookmark(self, revision: int, annotations: dict[str, str]) -> bytes:
        """Empty metadata."""
        metadata = _bookmark_metadata(revision, annotations)
        return orjson.dumps(
            {"kind": "PartialObjectMetadata", "apiVersion": self._api_version, "metadata": metadata}
        )

    def collection(self, items: Iterable[bytes], metadata: Object) -> bytes:
        """A PartialObjectMetadataList."""
        kind = {"kind": "PartialObjectMetadataList", "apiVersion": self._api_version}
        return join_list(kind, metadata, b"items", items)


class TableForm:
    """Rows of a table. `include` is None, Metadata or Object: what of the object goes along with its row."""

    def __init__(self, whole: Whole, columns: Sequence[Column], include: str, version: str = "v1") -> None:
        self._whole = whole
        self._columns = columns
        self._include = include
        self._kind = {"kind": "Table", "apiVersion": f"meta.k8s.io/{version}"}
        self._meta_version = f"meta.k8s.io/{version}"
        self._definitions = column_definitions(columns)
        self.key: tuple[str, ...] = ("table", *whole.key, include, version)

    def item(self, view: Encoded) -> bytes:
        """One row."""
        return orjson.dumps(self._row(self._whole.decoded(view)))

    def single(self, view: Encoded) -> bytes:
        """A table of one row, with the object's revision."""
        return self.event(view, first=True)

    def event(self, view: Encoded, *, first: bool = False) -> bytes:
        """A table of one row; columns only the first time."""
        obj = self._whole.decoded(view)
        return self._table([self._row(obj)], obj["metadata"], definitions=first)

    def bookmark(self, revision: int, annotations: dict[str, str]) -> bytes:
        """A table of one row whose object has nothing but a revision."""
        metadata = _bookmark_metadata(revision, annotations)
        row: Object = {"cells": row_cells(self._columns, {"metadata": {}}, _now()), "object": None}
        if self._include == "Object":
            row["object"] = orjson.Fragment(self._whole.bookmark(revision, annotations))
        elif self._include != "None":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": self._meta_version,
                "metadata": metadata,
            }
        return self._table([row], {"resourceVersion": str(revision)}, definitions=False)

    def collection(self, items: Iterable[bytes], metadata: Object) -> bytes:
        """A table of all rows."""
        head = {**self._kind, "metadata": metadata, "columnDefinitions": self._definitions}
        return join_list(head, None, b"rows", items)

    def _row(self, obj: Object) -> Object:
        row: Object = {"cells": row_cells(self._columns, obj, _now())}
        if self._include == "Object":
            row["object"] = obj
        elif self._include == "None":
            row["object"] = None
        else:
            row["object"] = partial(obj, self._meta_version)
        return row

    def _table(self, rows: list[Object], metadata: Object, *, definitions: bool) -> bytes:
        of = {"resourceVersion": metadata.get("resourceVersion", "")}
        columns = self._definitions if definitions else None
        return orjson.dumps({**self._kind, "metadata": of, "columnDefinitions": columns, "rows": rows})


def partial(obj: Object, api_version: str = META_V1) -> Object:
    """The metadata of an object under its own kind."""
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": obj["metadata"]}


def join_list(kind: Object, metadata: Object | None, field: bytes, items: Iterable[bytes]) -> bytes:
    """A JSON list document around encoded items, with the final newline: it may be too long to copy."""
    head = kind if metadata is None else {**kind, "metadata": metadata}
    return b"".join((orjson.dumps(head)[:-1], b',"', field, b'":[', b",".join(items), b"]}\n"))


def _bookmark_metadata(revision: int, annotations: dict[str, str]) -> Object:
    metadata: Object = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    return metadata


def _now() -> datetime:
    return datetime.now(UTC)
