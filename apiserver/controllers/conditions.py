"""The standard `conditions` array: one entry a type, and `lastTransitionTime` moves only when the status
flips. Pure; never changes its arguments."""

from __future__ import annotations

from typing import Any, Literal

Condition = dict[str, Any]
Truth = Literal["True", "False", "Unknown"]


def find(conditions: list[Condition] | None, kind: str) -> Condition | None:
    """The condition of a type, or None."""
    return next((condition for condition in conditions or () if condition.get("type") == kind), None)


def is_true(conditions: list[Condition] | None, kind: str) -> bool:
    """Whether the condition is there and True."""
    return (find(conditions, kind) or {}).get("status") == "True"


def with_condition(
    conditions: list[Condition] | None,
    kind: str,
    status: Truth,
    reason: str,
    message: str,
    *,
    generation: int,
    now: str,
) -> list[Condition]:
    """The conditions with one set; `now` is the time stamp for a status that flips."""
    old = find(conditions, kind)
    changed = old is None or old.get("status") != status
    new: Condition = {
        "type": kind,
        "status": status,
        "observedGeneration": generation,
        "lastTransitionTime": now if changed or old is None else old.get("lastTransitionTime", now),
        "reason": reason,
        "message": message,
    }
    if old is None:
        return [*(conditions or ()), new]
    return [new if condition is old else condition for condition in conditions or ()]


def without(conditions: list[Condition] | None, kind: str) -> list[Condition]:
    """The conditions without a type."""
    return [condition for condition in conditions or () if condition.get("type") != kind]
