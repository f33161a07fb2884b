"""What changed between two objects of one type, as three sets of paths: removed, modified, added.

Semantics: `typed.Compare` of sigs.k8s.io/structured-merge-diff. Parts that are equal are skipped without
looking into them, so the cost is that of the changed part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apiserver.machinery.managedfields.extract import all_fields, by_element
from apiserver.machinery.managedfields.fieldset import DOT, FieldSet, union, without_trees
from apiserver.machinery.managedfields.shape import Shape, TypedError
from apiserver.machinery.patch.json_patch import equal


@dataclass(slots=True)
class Comparison:
    """The changed paths; no path is in two of the sets."""

    removed: FieldSet = field(default_factory=dict)
    modified: FieldSet = field(default_factory=dict)
    added: FieldSet = field(default_factory=dict)

    @property
    def changed(self) -> FieldSet:
        """The paths that have a new value."""
        return union(self.modified, self.added)

    def without(self, ignored: FieldSet) -> Comparison:
        """The comparison without some trees of fields."""
        if not ignored:
            return self
        return Comparison(
            without_trees(self.removed, ignored),
            without_trees(self.modified, ignored),
            without_trees(self.added, ignored),
        )


def compare(old: dict[str, Any], new: dict[str, Any], shape: Shape) -> Comparison:
    """Compare two whole objects. Raises TypedError when one of them has not the shape."""
    result = Comparison()
    _maps(old, new, shape, result)
    return result


def _maps(old: dict[str, Any], new: dict[str, Any], shape: Shape, out: Comparison) -> None:
    for name, before in old.items():
        child = shape.child(name)
        if child is None:
            continue
        if name not in new:
            out.removed[f"f:{name}"] = all_fields(before, child)
            continue
        after = new[name]
        if before is not after and (child.loose or before != after):
            _values(f"f:{name}", before, after, child, out)
    for name, after in new.items():
        if name not in old:
            child = shape.child(name)
            if child is not None:
                out.added[f"f:{name}"] = all_fields(after, child)


def _values(element: str, before: Any, after: Any, shape: Shape, out: Comparison) -> None:
    """Compare two values that are both there, and enter what changed under `element`."""
    kind = shape.kind
    if kind == "any":
        _undeclared(element, before, after, shape, out)
    elif kind == "leaf" or (not before and not after):
        if not equal(before, after):
            out.modified[element] = {}
    elif kind == "map":
        _check(before, after, dict)
        _descend(element, before or {}, after or {}, shape, out)
    else:
        _check(before, after, list)
        below = Comparison()
        _lists(before or [], after or [], shape, below)
        _attach(element, below, out)


def _descend(element: str, before: Any, after: Any, shape: Shape, out: Comparison) -> None:
    below = Comparison()
    _maps(before, after, shape, below)
    _attach(element, below, out)


def _attach(element: str, below: Comparison, out: Comparison) -> None:
    if below.removed:
        out.removed[element] = below.removed
    if below.modified:
        out.modified[element] = below.modified
    if below.added:
        out.added[element] = below.added


def _undeclared(element: str, before: Any, after: Any, shape: Shape, out: Comparison) -> None:
    """Values without a schema: maps are compared by key, anything else as a whole."""
    old_map, new_map = isinstance(before, dict), isinstance(after, dict)
    if (old_map and new_map and (before or after)) or (old_map and before and after is None):
        return _descend(element, before, after or {}, shape, out)
    if new_map and after and before is None:
        return _descend(element, {}, after, shape, out)
    if equal(before, after):
        return None
    out.modified[element] = {}
    if old_map and before:
        out.removed[element] = _only_below(all_fields(before, shape))
    if new_map and after:
        out.added[element] = _only_below(all_fields(after, shape))
    return None


def _only_below(entry: FieldSet) -> FieldSet:
    return {key: child for key, child in entry.items() if key != DOT}


def _lists(before: list[Any], after: list[Any], shape: Shape, out: Comparison) -> None:
    old, new = by_element(before, shape), by_element(after, shape)
    item = shape.item
    for element, olds in old.items():
        news = new.get(element, [])
        if len(olds) > 1:
            _formerly_doubled(element, olds, news, shape, out)
        elif len(news) > 1:
            out.added[element] = {}
            out.removed[element] = all_fields(olds[0], item)
        elif not news:
            out.removed[element] = all_fields(olds[0], item)
        elif item is not None and (item.loose or olds[0] != news[0]):
            _values(element, olds[0], news[0], item, out)
    for element, news in new.items():
        if element not in old:
            out.added[element] = all_fields(news[0], item) if len(news) == 1 else {}


def _formerly_doubled(element: str, olds: list[Any], news: list[Any], shape: Shape, out: Comparison) -> None:
    """Duplicates have one owner as a whole, an item that is there once has owners by field."""
    if len(news) > 1:
        if not equal(olds, news):
            out.modified[element] = {}
        return
    out.removed[element] = {}
    if news:
        out.added[element] = all_fields(news[0], shape.item)


def _check(before: Any, after: Any, expected: type) -> None:
    for value in (before, after):
        if value is not None and not isinstance(value, expected):
            raise TypedError(f": expected {'map' if expected is dict else 'list'}, got {value!r}")
