"""YAML bodies into plain JSON values, as Kubernetes' YAML library converts them.

Works on libyaml's event stream with an explicit stack: no recursion, no constructors, no tags that make
objects, a bound on nesting and on what aliases may expand to. Plain scalars are read as `sigs.k8s.io/yaml`
reads them (YAML 1.1 booleans, timestamps stay strings, no base-60 numbers). Knows nothing of kinds or HTTP.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from apiserver.machinery.codec.gotext import quote
from apiserver.machinery.codec.json_body import MAX_DEPTH, MAX_VALUES, DecodeError, normalise_numbers
from apiserver.machinery.codec.yaml_scalar import Scalar, resolve

MAX_NODES = 2 * MAX_VALUES
"""How many nodes, keys among them, a document may have after its aliases are expanded."""

_MERGE = "tag:yaml.org,2002:merge"
_BINARY = "tag:yaml.org,2002:binary"
_NOT_THERE = object()


@dataclass(slots=True)
class _Built:
    """A finished node: its value, the number of nodes in it, how deep it nests."""

    value: Any
    nodes: int = 1
    depth: int = 0
    is_map: bool = False


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence under construction."""

    value: dict[str, Any] | list[Any]
    line: int
    anchor: str | None
    nodes: int = 1
    depth: int = 1
    key: Any = _NOT_THERE
    merging: bool = False
    raw_keys: set[Any] = field(default_factory=set)


def load_yaml(body: bytes) -> tuple[Any, list[str]]:
    """The value of the first document, its duplicate keys as one strict error text. Raises DecodeError."""
    try:
        events = yaml.parse(body, Loader=yaml.CSafeLoader)
        return _Builder().build(events)
    except yaml.YAMLError as error:
        raise DecodeError(f"yaml: {_words(error)}") from None
    except (UnicodeDecodeError, ValueError) as error:
        if isinstance(error, DecodeError):
            raise
        raise DecodeError("yaml: invalid UTF-8") from None


def _words(error: yaml.YAMLError) -> str:
    """libyaml's problem, with the line that Go's port names: one less than it is in errors of the parser."""
    if isinstance(error, yaml.reader.ReaderError):
        return str(error.reason)
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error)
    line = error.problem_mark.line if error.problem_mark else 0
    if line:
        line += isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark:
        line = error.context_mark.line
    return f"line {line}: {error.problem}" if line else str(error.problem)


class _Builder:
    """Builds one document from events."""

    def __init__(self) -> None:
        self.stack: list[_Frame] = []
        self.anchors: dict[str, _Built] = {}
        self.open_anchors: set[str] = set()
        self.duplicates: list[str] = []
        self.root: Any = None
        self.nodes = 0
        self.expanded = False

    def build(self, events: Iterator[yaml.Event]) -> tuple[Any, list[str]]:
        """Consume the events of the first document."""
        for event in events:
            if isinstance(event, yaml.DocumentEndEvent):
                break
            self._take(event)
        lines = "".join(f"\n  {line}" for line in self.duplicates)
        return normalise_numbers(self.root), [f"yaml: unmarshal errors:{lines}"] if lines else []

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            built = _Built(_scalar(event))
            self._anchor(event.anchor, built)
            self._add(built, _line(event), event)
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._alias(str(event.anchor)), _line(event), event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise DecodeError("yaml: exceeded maximum nesting depth")
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.stack.append(_Frame(value, _line(event), event.anchor))
        if event.anchor:
            self.open_anchors.add(event.anchor)

    def _close(self) -> None:
        frame = self.stack.pop()
        built = _Built(frame.value, frame.nodes, frame.depth, isinstance(frame.value, dict))
        if frame.anchor:
            self.open_anchors.discard(frame.anchor)
        self._anchor(frame.anchor, built)
        self._add(built, frame.line, None)

    def _anchor(self, name: str | None, built: _Built) -> None:
        if name:
            self.anchors[name] = built

    def _alias(self, name: str) -> _Built:
        if name in self.open_anchors:
            raise DecodeError(f"yaml: anchor '{name}' value contains itself")
        if name not in self.anchors:
            raise DecodeError(f"yaml: unknown anchor '{name}' referenced")
        original = self.anchors[name]
        self.expanded = True
        self._count(original.nodes)
        return _Built(_copy(original.value), original.nodes, original.depth, original.is_map)

    def _count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            what = (
                "document contains excessive aliasing" if self.expanded else "exceeded max number of values"
            )
            raise DecodeError(f"yaml: {what}")

    def _add(self, built: _Built, line: int, event: yaml.Event | None) -> None:
        """Put a finished node where it belongs in the innermost open one."""
        if not self.stack:
            self.root = built.value
            return
        frame = self.stack[-1]
        frame.nodes += built.nodes
        self._count(1)
        frame.depth = max(frame.depth, built.depth + 1)
        if len(self.stack) + built.depth > MAX_DEPTH:
            raise DecodeError("yaml: exceeded maximum nesting depth")
        if isinstance(frame.value, list):
            frame.value.append(built.value)
        elif frame.key is _NOT_THERE and not frame.merging:
            self._start_entry(frame, built, event)
        else:
            self._finish_entry(frame, frame.value, built, line)

    def _start_entry(self, frame: _Frame, built: _Built, event: yaml.Event | None) -> None:
        if isinstance(built.value, dict | list):
            raise DecodeError("yaml: invalid map key")
        if isinstance(event, yaml.ScalarEvent) and _is_merge(event):
            frame.merging = True
            return
        if built.value is None:
            raise DecodeError("unsupported map key of type: %!s(<nil>), key: <nil>")
        frame.key = built.value

    def _finish_entry(self, frame: _Frame, target: dict[str, Any], built: _Built, line: int) -> None:
        if frame.merging:
            frame.merging = False
            self._merge(target, built)
            return
        key, frame.key = frame.key, _NOT_THERE
        raw = (type(key), key)
        if raw in frame.raw_keys:
            shown = quote(key) if isinstance(key, str) else _key_text(key)
            self.duplicates.append(f"line {line + 1}: key {shown} already set in map")
        frame.raw_keys.add(raw)
        target[_key_text(key)] = built.value

    def _merge(self, target: dict[str, Any], built: _Built) -> None:
        sources = [built.value] if built.is_map else built.value
        if not isinstance(sources, list) or not all(isinstance(source, dict) for source in sources):
            raise DecodeError("yaml: map merge requires map or sequence of maps as the value")
        for source in reversed(sources):
            target.update(source)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line if event.start_mark else 0


def _is_merge(event: yaml.ScalarEvent) -> bool:
    return event.value == "<<" and (event.tag == _MERGE or (event.tag is None and event.implicit[0]))


def _scalar(event: yaml.ScalarEvent) -> Scalar:
    text: str = event.value
    if event.tag is None or event.tag == "!":
        plain = event.tag is None and event.implicit[0]
        value = resolve(text) if plain else text
    elif event.tag == _BINARY:
        value = _binary(text)
    else:
        value = _tagged(event.tag, text)
    if isinstance(value, float) and not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise DecodeError(f"json: unsupported value: {shown}")
    return value


def _tagged(tag: str, text: str) -> Scalar:
    """A scalar with an explicit tag; tags that are none of the core schema say nothing, as in Go."""
    short = tag.removeprefix("tag:yaml.org,2002:")
    if short not in ("bool", "int", "float", "null", "timestamp"):
        return text
    value = resolve(text)
    kinds = {"bool": bool, "int": int, "float": float, "null": type(None), "timestamp": str}
    if short == "float" and type(value) is int:
        return float(value)
    if type(value) is not kinds[short]:
        raise DecodeError(f"yaml: cannot decode !!{_tag_of(value)} `{text}` as a !!{short}")
    return value


def _tag_of(value: Scalar) -> str:
    names: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}
    return names[type(value)]


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except binascii.Error:
        raise DecodeError("yaml: !!binary value contains invalid base64 data") from None


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return format(key, "g") if isinstance(key, float) else str(key)


def _copy(value: Any) -> Any:
    """A deep copy: what an alias stands for must not be shared, objects are changed in place later."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
