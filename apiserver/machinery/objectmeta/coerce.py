"""Metadata as a client sent it, brought into the shape of `metav1.ObjectMeta`.

Does what `schema/objectmeta/coerce.go` of k8s.io/apiextensions-apiserver does by decoding into the Go struct
and writing it back: wrong types are an error in the words of Go's decoder, unknown fields are dropped and
named, empty values are left out. Knows no validation rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from apiserver.machinery.objectmeta.timestamps import canonical_time

Object = dict[str, Any]
_JSON_TYPES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


class _At(NamedTuple):
    """Where a value is: its Go struct, its path of Go fields, its JSON path."""

    struct: str
    path: str
    where: str


class _Decoding:
    """What has been found so far: the first wrong type, and the unknown fields."""

    def __init__(self) -> None:
        self.wrong = ""
        self.unknown: list[str] = []

    def mistyped(self, value: Any, at: _At, go_type: str) -> None:
        """Note a value of the wrong type; only the first one counts, as in Go."""
        if not self.wrong:
            shown = _JSON_TYPES[type(value)]
            if go_type == "int64" and type(value) in (int, float):
                shown = f"number {value}"
            target = f"Go struct field {at.struct}.{at.path}" if at.path else "Go value"
            self.wrong = f"json: cannot unmarshal {shown} into {target} of type {go_type}"


Reader = Callable[[_Decoding, Any, _At], Any]
"""Reads the value of a field: gives the value to keep, None when it is empty."""


def coerce(obj: Object) -> list[str]:
    """Put `obj["metadata"]` into shape; gives the paths of unknown fields (`metadata.foo`), sorted by key.

    A null becomes an empty object; a missing one stays missing. Raises ValueError with the text of Go's
    decoder when it cannot be decoded.
    """
    metadata = obj.get("metadata")
    if "metadata" not in obj or metadata is None:
        if "metadata" in obj:
            obj["metadata"] = {}
        return []
    state = _Decoding()
    if not isinstance(metadata, dict):
        state.mistyped(metadata, _At("", "", ""), "v1.ObjectMeta")
        raise ValueError(state.wrong)
    obj["metadata"] = _struct(state, metadata, _At("ObjectMeta", "", "metadata"), _OBJECT_META)
    if state.wrong:
        raise ValueError(state.wrong)
    return state.unknown


def _struct(state: _Decoding, value: Object, at: _At, fields: dict[str, Reader]) -> Object:
    """The known fields, in the order given. Errors come in the order of the keys: Go decodes them sorted."""
    read: Object = {}
    for name in sorted(value):
        reader = fields.get(name)
        if reader is None:
            state.unknown.append(f"{at.where}.{name}")
            continue
        given = value[name]
        if given is None:
            continue
        path = f"{at.path}.{name}" if at.path else name
        kept = reader(state, given, _At(at.struct, path, f"{at.where}.{name}"))
        if kept is not None:
            read[name] = kept
    return {name: read[name] for name in value if name in read}


def _scalar(python_type: type, go_type: str, *, keep_zero: bool = False) -> Reader:
    def read(state: _Decoding, value: Any, at: _At) -> Any:
        if type(value) is not python_type:
            return state.mistyped(value, at, go_type)
        return value if value or keep_zero else None

    return read


def _time(state: _Decoding, value: Any, at: _At) -> str | None:
    """Times decode themselves, so their errors end the decoding at once."""
    if not isinstance(value, str):
        state.wrong = ""
        state.mistyped(value, at, "string")
        raise ValueError(state.wrong)
    return canonical_time(value)


def _string_map(state: _Decoding, value: Any, at: _At) -> Object | None:
    if not isinstance(value, dict):
        state.mistyped(value, at, "map[string]string")
        return None
    if all(type(item) is str for item in value.values()):
        return value or None
    for key in sorted(value):
        if value[key] is not None and not isinstance(value[key], str):
            state.mistyped(value[key], at, "string")
    return {key: "" if item is None else item for key, item in value.items()}


def _string_list(state: _Decoding, value: Any, at: _At) -> list[Any] | None:
    if not isinstance(value, list):
        state.mistyped(value, at, "[]string")
        return None
    for item in value:
        if item is not None and not isinstance(item, str):
            state.mistyped(item, at, "string")
    return ["" if item is None else item for item in value] or None


def _structs(struct_name: str, fields: dict[str, Reader], always: tuple[str, ...] = ()) -> Reader:
    """A list of structs; the `always` fields are written even when they are empty."""

    def read(state: _Decoding, value: Any, at: _At) -> list[Object] | None:
        if not isinstance(value, list):
            state.mistyped(value, at, f"[]v1.{struct_name}")
            return None
        read_items: list[Object] = []
        for index, given in enumerate(value):
            item = {} if given is None else given
            if not isinstance(item, dict):
                state.mistyped(item, at, f"v1.{struct_name}")
                continue
            decoded = _struct(state, item, _At(struct_name, at.path, f"{at.where}[{index}]"), fields)
            for name in always:
                decoded.setdefault(name, "")
            read_items.append(decoded)
        return read_items or None

    return read


def _anything(_state: _Decoding, value: Any, _at: _At) -> Any:
    return value


_STRING, _BOOL, _INT = _scalar(str, "string"), _scalar(bool, "bool", keep_zero=True), _scalar(int, "int64")
_OWNER_FIELDS: dict[str, Reader] = {
    "apiVersion": _STRING,
    "kind": _STRING,
    "name": _STRING,
    "uid": _scalar(str, "types.UID"),
    "controller": _BOOL,
    "blockOwnerDeletion": _BOOL,
}
_ENTRY_FIELDS: dict[str, Reader] = {
    "manager": _STRING,
    "operation": _scalar(str, "v1.ManagedFieldsOperationType"),
    "apiVersion": _STRING,
    "time": _time,
    "fieldsType": _STRING,
    "fieldsV1": _anything,
    "subresource": _STRING,
}
_OBJECT_META: dict[str, Reader] = {
    "name": _STRING,
    "generateName": _STRING,
    "namespace": _STRING,
    "selfLink": _STRING,
    "uid": _scalar(str, "types.UID"),
    "resourceVersion": _STRING,
    "generation": _INT,
    "creationTimestamp": _time,
    "deletionTimestamp": _time,
    "deletionGracePeriodSeconds": _scalar(int, "int64", keep_zero=True),
    "labels": _string_map,
    "annotations": _string_map,
    "ownerReferences": _structs("OwnerReference", _OWNER_FIELDS, ("apiVersion", "kind", "name", "uid")),
    "finalizers": _string_list,
    "managedFields": _structs("ManagedFieldsEntry", _ENTRY_FIELDS),
}
