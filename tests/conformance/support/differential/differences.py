"""What differs from a CRD on purpose, and why. A listed difference that is gone fails like a new one."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """Cases (a pattern of their names) that may and must differ, at places that match `paths` alone."""

    cases: str
    paths: tuple[str, ...]
    reason: str


DIFFERENCES: tuple[Difference, ...] = ()


def expected(case: str) -> tuple[Difference, ...]:
    """The differences listed for a case."""
    return tuple(difference for difference in DIFFERENCES if fnmatch.fnmatchcase(case, difference.cases))
