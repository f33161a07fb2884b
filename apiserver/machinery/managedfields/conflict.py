"""The answer to an apply that would take what others own: 409, with one cause for each field."""

from __future__ import annotations

from apiserver.machinery.errors import APIError, Cause, apply_conflict
from apiserver.machinery.managedfields.entries import Owner
from apiserver.machinery.managedfields.fieldset import FieldSet, paths


def conflict_error(conflicts: dict[Owner, FieldSet]) -> APIError:
    """The error that names every field and its owner. Texts as in k8s.io/apimachinery's `conflict.go`."""
    found = [(owner, path) for owner in sorted(conflicts) for path in paths(conflicts[owner])]
    causes = [Cause("FieldManagerConflict", f"conflict with {owner}", path) for owner, path in found]
    if len(found) == 1:
        owner, path = found[0]
        return apply_conflict(f"Apply failed with 1 conflict: conflict with {owner}: {path}", causes)
    lines: list[str] = []
    for owner in sorted(conflicts):
        lines.append(f"conflicts with {owner}:")
        lines.extend(f"- {path}" for path in paths(conflicts[owner]))
    listed = "\n".join(lines)
    return apply_conflict(f"Apply failed with {len(found)} conflicts: {listed}", causes)
