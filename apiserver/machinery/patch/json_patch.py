"""JSON patches (RFC 6902) as kube-apiserver applies them.

It uses evanphx/json-patch v4, whose habits are kept: negative indices count from the end, `replace` of a
missing key adds it, a missing `value` is null, `copy` of a missing key copies null. One thing is left to
RFC 6902: `test` compares numbers by value, not by spelling. Knows plain JSON values, and no kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from apiserver.machinery.codec.json_body import MAX_DEPTH, DecodeError, load_json, survey
from apiserver.machinery.errors import APIError, Cause, bad_request, too_large

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""How much all `copy` operations of one patch may add."""

Kind = Literal["add", "remove", "replace", "move", "test", "copy", "unknown"]

_FIELDS = ("op", "path", "from", "value")
_INDEX = re.compile(r"[+-]?[0-9]{1,18}")
_REJECTED = "the server rejected our request due to an error in our request"
_JSON_TYPES = {list: "array", dict: "object", str: "string", bool: "bool", int: "number", float: "number"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One step. `path` and `source` (`from`) are None when not given."""

    kind: str
    path: str | None = None
    source: str | None = None
    value: Any = None


@dataclass(frozen=True, slots=True)
class JSONPatch:
    """A decoded patch. `strict_errors` are duplicate and unknown fields of its operations, as texts."""

    operations: tuple[Operation, ...]
    strict_errors: list[str] = field(default_factory=list)

    def apply(self, document: Any) -> Any:
        """The patched document; the given one is not changed and not shared. Raises a 422 APIError."""
        state = _State(copy_json(document))
        try:
            for operation in self.operations:
                state.step(operation)
            state.check_size()
        except _DoesNotApplyError as error:
            raise APIError(422, "Invalid", _REJECTED, causes=[Cause(message=str(error))]) from None
        return state.document


def parse_json_patch(body: bytes) -> JSONPatch:
    """Decode a patch. Raises a 400 APIError when it is malformed, 413 when it has too many operations."""
    try:
        value, duplicates = load_json(body)
    except DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    value = [] if value is None else value
    if not isinstance(value, list):
        kind = _JSON_TYPES[type(value)]
        raise _cannot_unmarshal(f"{kind} into Go value of type []handlers.jsonPatchOp")
    unknown: list[str] = []
    operations = tuple(_operation(index, item, unknown) for index, item in enumerate(value))
    if len(operations) > MAX_OPERATIONS:
        limit = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise too_large(f"Request entity too large: {limit}")
    return JSONPatch(operations, [f"json patch {text}" for text in [*duplicates, *unknown]])


def copy_json(value: Any) -> Any:
    """A deep copy of a JSON value; the fastest that there is in Python."""
    return orjson.loads(orjson.dumps(value))


def _operation(index: int, item: Any, unknown: list[str]) -> Operation:
    if item is None:
        return Operation("unknown")
    if not isinstance(item, dict):
        raise _cannot_unmarshal(f"{_JSON_TYPES[type(item)]} into Go value of type handlers.jsonPatchOp")
    for key, value in item.items():
        if key not in _FIELDS:
            unknown.append(f'unknown field "[{index}].{key}"')
        elif key != "value" and value is not None and not isinstance(value, str):
            kind = _JSON_TYPES[type(value)]
            raise _cannot_unmarshal(f"{kind} into Go struct field jsonPatchOp.{key} of type string")
    name = item.get("op")
    return Operation(
        "unknown" if name is None else name, item.get("path"), item.get("from"), item.get("value")
    )


def _cannot_unmarshal(what: str) -> APIError:
    return bad_request(f"error decoding patch: json: cannot unmarshal {what}")


class _DoesNotApplyError(Exception):
    """An operation cannot be done on this document; the message says which and why."""


class _State:
    """The document between two operations."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.copied = 0
        self.steps: dict[str, Callable[[Operation], None]] = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "test": self._test,
            "copy": self._copy,
        }

    def step(self, operation: Operation) -> None:
        """Do one operation. Raises _DoesNotApplyError."""
        perform = self.steps.get(operation.kind)
        if perform is None:
            raise _DoesNotApplyError(f"Unexpected kind: {operation.kind}")
        perform(operation)

    def check_size(self) -> None:
        """The outcome is bounded as a decoded body is. Raises _DoesNotApplyError."""
        try:
            survey(self.document)
        except DecodeError as error:
            raise _DoesNotApplyError(f"the patched document {error}") from None

    def _find(self, pointer: str | None, text: str, kind: str) -> tuple[Any, str]:
        """The container that a pointer leads into, and the key in it."""
        if pointer is None:
            source = "from" if "from" in text else "path"
            raise _DoesNotApplyError(f"{kind} operation failed to decode {source}: missing value")
        parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]
        if len(parts) > MAX_DEPTH:
            raise _DoesNotApplyError(f"{kind} operation does not apply: {text} exceeded max depth")
        node = self.document if len(parts) > 1 else None
        for part in parts[1:-1]:
            try:
                node = _get(node, part)
            except _DoesNotApplyError:
                node = None
        if not isinstance(node, dict | list):
            raise _DoesNotApplyError(f"{kind} operation does not apply: doc is missing {text}: {pointer}")
        return node, parts[-1]

    def _add(self, operation: Operation) -> None:
        container, key = self._find(operation.path, "path", "add")
        with_path = f"error in add for path: '{operation.path}'"
        _add(container, key, copy_json(operation.value), with_path)

    def _remove(self, operation: Operation) -> None:
        container, key = self._find(operation.path, "path", "remove")
        _remove(container, key, f"error in remove for path: '{operation.path}'")

    def _replace(self, operation: Operation) -> None:
        if operation.path == "":
            if not isinstance(operation.value, dict | list):
                raise _DoesNotApplyError("replace operation value must be object or array")
            self.document = copy_json(operation.value)
            return
        container, key = self._find(operation.path, "path", "replace")
        if isinstance(container, dict):
            container[key] = copy_json(operation.value)
            return
        try:
            position = _index(container, key)
        except _DoesNotApplyError:
            why = f"replace operation does not apply: doc is missing key: {operation.path}: missing value"
            raise _DoesNotApplyError(why) from None
        container[position] = copy_json(operation.value)

    def _move(self, operation: Operation) -> None:
        source, key = self._find(operation.source, "from path", "move")
        why = f"error in move for path: '{key}'"
        value = _get(source, key, why)
        _remove(source, key, why)
        target, name = self._find(operation.path, "destination path", "move")
        _add(target, name, value, f"error in move for path: '{operation.path}'")

    def _copy(self, operation: Operation) -> None:
        source, key = self._find(operation.source, "from path", "copy")
        value = _get(source, key, f"error in copy for from: '{operation.source}'")
        target, name = self._find(operation.path, "destination path", "copy")
        try:
            encoded = orjson.dumps(value)
        except orjson.JSONEncodeError:
            # Copies of copies nest ever deeper; orjson stops at 254.
            raise _DoesNotApplyError("Unable to complete the copy: exceeded max depth") from None
        self.copied += len(encoded) if value is not None else 0
        if self.copied > MAX_COPIED_BYTES:
            increase = f"the accumulated size increase of copy is {self.copied}"
            why = f"Unable to complete the copy, {increase}, exceeding the limit {MAX_COPIED_BYTES}"
            raise _DoesNotApplyError(why)
        _add(target, name, orjson.loads(encoded), "error while adding value during copy")

    def _test(self, operation: Operation) -> None:
        if operation.path == "":
            found = self.document
        else:
            container, key = self._find(operation.path, "path", "test")
            found = _get(container, key, f"error in test for path: '{operation.path}'")
        if not equal(found, operation.value):
            raise _DoesNotApplyError(f"testing value {operation.path} failed: test failed")


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same; true is not 1, 1 is 1.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _index(items: list[Any], key: str, *, size: int | None = None) -> int:
    """The position that a key means in a list of `size` places; negative ones count from the end."""
    places = len(items) if size is None else size
    if not _INDEX.fullmatch(key):
        raise _DoesNotApplyError(f"value was not a proper array index: '{key}'")
    position = int(key)
    if not -places <= position < places:
        raise _DoesNotApplyError(f"Unable to access invalid index: {position}: invalid index referenced")
    return position + places if position < 0 else position


def _get(container: Any, key: str, why: str = "") -> Any:
    if isinstance(container, dict):
        return container.get(key)
    if not isinstance(container, list):
        raise _DoesNotApplyError(why)
    try:
        return container[_index(container, key)]
    except _DoesNotApplyError as error:
        raise _DoesNotApplyError(f"{why}: {error}") from None


def _add(container: Any, key: str, value: Any, why: str) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        try:
            container.insert(_index(container, key, size=len(container) + 1), value)
        except _DoesNotApplyError as error:
            raise _DoesNotApplyError(f"{why}: {error}") from None


def _remove(container: Any, key: str, why: str) -> None:
    try:
        if isinstance(container, list):
            del container[_index(container, key)]
        elif key in container:
            del container[key]
        else:
            raise _DoesNotApplyError(f"Unable to remove nonexistent key: {key}: missing value")
    except _DoesNotApplyError as error:
        raise _DoesNotApplyError(f"{why}: {error}") from None
