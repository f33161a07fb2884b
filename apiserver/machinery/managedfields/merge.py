"""The union of two objects of one type, in which the second one wins: what an apply makes of the live object.

Semantics and order of list items: `typed.Merge` of sigs.k8s.io/structured-merge-diff. The result shares
nothing with the patch, and unchanged parts with the live object.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from apiserver.machinery.managedfields.extract import by_element
from apiserver.machinery.managedfields.shape import Shape
from apiserver.machinery.patch.json_patch import copy_json


def merge(live: dict[str, Any], patch: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """The live object with everything that the patch names. Raises TypedError."""
    return _maps(live, patch, shape)


def _maps(live: dict[str, Any], patch: dict[str, Any], shape: Shape) -> dict[str, Any]:
    out = dict(live)
    for name, wanted in patch.items():
        child = shape.child(name)
        if name not in live or child is None:
            out[name] = copy_json(wanted)
        else:
            out[name] = _values(live[name], wanted, child)
    return out


def _values(live: Any, wanted: Any, shape: Shape) -> Any:
    if shape.kind == "leaf":
        return copy_json(wanted)
    if shape.kind == "list":
        if not live or not wanted:
            return live or copy_json(wanted)
        return _lists(live, wanted, shape)
    if not isinstance(live, dict) or not live:
        return copy_json(wanted)
    if wanted is None:
        return live
    return _maps(live, wanted, shape) if isinstance(wanted, dict) else copy_json(wanted)


def _lists(live: list[Any], wanted: list[Any], shape: Shape) -> list[Any]:
    """Items of both: those that both have follow the order of the patch, the others keep their neighbours."""
    ours, theirs = by_element(live, shape), by_element(wanted, shape)
    left = [shape.element(item) for item in live]
    right = list(theirs)
    shared = deque(element for element in right if element in ours)
    done: set[str] = set()
    out: list[Any] = []
    at_left = at_right = 0
    while at_left < len(left) or at_right < len(right):
        element = left[at_left] if at_left < len(left) else ""
        other = right[at_right] if at_right < len(right) else ""
        if element and element == other:
            out.append(_item(ours, theirs, element, shape))
            done.add(element)
            at_left, at_right = at_left + 1, at_right + 1
            if shared:
                shared.popleft()
        elif element and other and element in theirs and shared and shared[0] != element:
            at_left += 1
        elif element and element not in theirs:
            out.append(live[at_left])
            at_left += 1
        else:
            if element in done:
                at_left += 1
            if other:
                out.append(_item(ours, theirs, other, shape))
                done.add(other)
                at_right += 1
                if shared and shared[0] == other:
                    shared.popleft()
    return out


def _item(ours: dict[str, list[Any]], theirs: dict[str, list[Any]], element: str, shape: Shape) -> Any:
    """One item of the patch, merged with the live one if there is exactly one."""
    wanted = theirs[element][0]
    live = ours.get(element, [])
    if len(live) != 1 or shape.item is None:
        return copy_json(wanted)
    return _values(live[0], wanted, shape.item)
