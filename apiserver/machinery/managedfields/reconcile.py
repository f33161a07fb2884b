"""Field sets that were written under an older schema, made to fit the present one.

Where a list or map has become atomic since, whoever owned something in it now owns it as a whole. Semantics:
`typed.ReconcileFieldSetWithSchema` of sigs.k8s.io/structured-merge-diff.
"""

from __future__ import annotations

from apiserver.machinery.managedfields.fieldset import DOT, FieldSet
from apiserver.machinery.managedfields.shape import Shape


def reconcile(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set that fits; the very same one when nothing has changed."""
    if shape is None or not shape.folds or not fields:
        return fields
    out: FieldSet = {}
    changed = False
    for element, entry in fields.items():
        fitting = entry
        if entry and element != DOT:
            child = shape.child(element[2:]) if element.startswith("f:") else shape.item
            is_whole = child is not None and child.folds and child.kind == "leaf"
            fitting = {} if is_whole else reconcile(entry, child)
        changed = changed or fitting is not entry
        out[element] = fitting
    return out if changed else fields
