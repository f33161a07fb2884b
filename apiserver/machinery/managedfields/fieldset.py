"""Sets of field paths, in the very form in which `fieldsV1` carries them.

A set is a dict from path elements (`f:name`, `k:{"name":"a"}`, `v:"x"`, `i:0`) to the set below them. A path
is in the set when its dict is empty or has the key `.`; a dict with other keys and without `.` is only on the
way to paths below. The root stands for no path: an empty root is the empty set. Sets are never changed in
place by these functions, and share what did not change.

Semantics: `fieldpath.Set` of sigs.k8s.io/structured-merge-diff. Knows no schema and no objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from apiserver.machinery.codec.gotext import quote

FieldSet = dict[str, Any]
DOT = "."
_KINDS = ("f:", "k:", "v:", "i:")
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def is_member(entry: FieldSet) -> bool:
    """Whether the path of this entry is in the set itself."""
    return not entry or DOT in entry


def entry_of(children: FieldSet, member: bool) -> FieldSet | None:
    """The entry for a path with these paths below it; None when there is nothing to enter."""
    if not children:
        return {} if member else None
    if member == (DOT in children):
        return children
    if member:
        return {DOT: {}, **children}
    return {key: child for key, child in children.items() if key != DOT} or None


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of either set."""
    if not left or not right or left is right:
        return left or right
    out = dict(left)
    for key, theirs in right.items():
        ours = out.get(key)
        out[key] = theirs if ours is None else _union_entries(ours, theirs)
    return out


def _union_entries(ours: FieldSet, theirs: FieldSet) -> FieldSet:
    if ours is theirs or ours == theirs:
        return ours
    if not ours or not theirs:
        both = ours or theirs
        return both if DOT in both else {DOT: {}, **both}
    return union(ours, theirs)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of `left` that are not in `right`; what is below a removed path stays."""
    if not left or not right:
        return left
    out: FieldSet = {}
    for key, ours in left.items():
        theirs = right.get(key)
        if theirs is None:
            out[key] = ours
            continue
        member = is_member(ours) and not is_member(theirs)
        rest = entry_of(difference(_below(ours), _below(theirs)), member)
        if rest is not None:
            out[key] = rest
    return out


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths that are in both sets."""
    out: FieldSet = {}
    for key, ours in left.items():
        theirs = right.get(key)
        if theirs is None:
            continue
        member = is_member(ours) and is_member(theirs)
        both = entry_of(intersection(_below(ours), _below(theirs)), member)
        if both is not None:
            out[key] = both
    return out


def without_trees(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of `left` that are neither in `right` nor below a path of `right`."""
    if not left or not right:
        return left
    out: FieldSet = {}
    for key, ours in left.items():
        theirs = right.get(key)
        if theirs is None:
            out[key] = ours
        elif not is_member(theirs):
            rest = entry_of(without_trees(_below(ours), theirs), is_member(ours))
            if rest is not None:
                out[key] = rest
    return out


def _below(entry: FieldSet) -> FieldSet:
    if DOT not in entry:
        return entry
    return {key: child for key, child in entry.items() if key != DOT}


def ordered(fields: FieldSet) -> FieldSet:
    """The same set with its keys in the order in which custom resources show them."""
    return {key: ordered(child) if (child := fields[key]) else child for key in sorted(fields)}


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """The paths as conflicts print them (`.spec.env[name="A"].value`), in upstream's order."""
    keys = [key for key in sorted(fields, key=_element_order) if key != DOT]
    for key in keys:
        if is_member(fields[key]):
            yield f"{prefix}{element_text(key)}"
    for key in keys:
        yield from paths(fields[key], f"{prefix}{element_text(key)}")


def _element_order(key: str) -> tuple[int, int, str]:
    kind = _KINDS.index(key[:2]) if key[:2] in _KINDS else -1
    return kind, int(key[2:]) if kind == 3 else 0, key


def element_text(key: str) -> str:
    """A path element as people read it."""
    kind, content = key[:2], key[2:]
    if kind == "f:":
        return f".{content}"
    if kind == "i:":
        return f"[{content}]"
    value = orjson.loads(content)
    if kind == "v:":
        return f"[={_value_text(value)}]"
    return f"[{','.join(f'{name}={_value_text(item)}' for name, item in value.items())}]"


def _value_text(value: Any) -> str:
    return quote(value) if isinstance(value, str) else orjson.dumps(value).decode()


def key_element(fields: dict[str, Any]) -> str:
    """The element of a list item that is told apart by some of its fields."""
    return f"k:{_json(fields)}"


def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return f"v:{_json(value)}"


def _json(value: Any) -> str:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    if not text.isascii() or "<" in text or ">" in text or "&" in text:
        for char, escape in _UNSAFE.items():
            text = text.replace(char, escape)
    return text


def parse_fields(raw: Any) -> FieldSet:
    """Read `fieldsV1` as a client may have sent it, into the canonical form. Raises ValueError.

    Elements of unknown kinds are dropped, as upstream does.
    """
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ValueError("fieldsV1 must be an object")
    out: FieldSet = {}
    for key, below in raw.items():
        if key == DOT:
            out[DOT] = {}
            continue
        element = _canonical_element(key)
        if element:
            out[element] = parse_fields(below)
    return out


def _canonical_element(key: str) -> str:
    if len(key) < 2:
        raise ValueError("key must be 2 characters long:")
    if key[1] != ":":
        raise ValueError(f"missing colon: {key}")
    kind, content = key[:2], key[2:]
    if kind == "i:":
        return f"i:{int(content)}"
    if kind not in ("k:", "v:"):
        return key if kind == "f:" else ""
    value = orjson.loads(content)
    if kind == "v:":
        return value_element(value)
    if not isinstance(value, dict):
        raise ValueError(f"key must be an object: {key}")
    return key_element(value)
