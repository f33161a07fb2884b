"""The table of requests, one module for each kind of verb."""

from __future__ import annotations

from differential.case import Case
from differential.cases import (
    applying,
    changing,
    creating,
    reading,
    removing,
    subresources,
    versions,
    watching,
    with_kubectl,
)

_MODULES = (creating, reading, watching, changing, applying, removing, subresources, versions, with_kubectl)


def table() -> list[Case]:
    """All rows. No name is given twice."""
    rows = [case for module in _MODULES for case in module.cases()]
    names = [case.name for case in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, f"names given twice: {twice}"
    return rows
