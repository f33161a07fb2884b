"""From two series of answers to a verdict."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from differential.compare import Mismatch, differ
from differential.differences import Difference, expected


@dataclass(frozen=True)
class Verdict:
    """`unexpected` is what differs without being listed; `gone` is what is listed and does not differ."""

    case: str
    unexpected: tuple[Mismatch, ...]
    listed: tuple[Mismatch, ...]
    gone: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether there is no difference at all, listed or not."""
        return not (self.unexpected or self.listed)

    def __str__(self) -> str:
        lines = [str(mismatch) for mismatch in self.unexpected]
        lines += [f"listed as different, but is the same: {d.cases}: {d.reason}" for d in self.gone]
        return "\n".join([self.case, *lines])


def judge(case: str, theirs: Sequence[Any], ours: Sequence[Any]) -> Verdict:
    """Compare the answers of one case."""
    found = list(differ(list(theirs), list(ours)))
    differences = expected(case)
    listed = [m for m in found if any(_allows(d, m) for d in differences)]
    gone = [d for d in differences if not any(_allows(d, m) for m in found)]
    return Verdict(case, tuple(m for m in found if m not in listed), tuple(listed), tuple(gone))


def _allows(difference: Difference, mismatch: Mismatch) -> bool:
    # Brackets stand for themselves in our paths, and for a set of characters in a pattern.
    return any(fnmatch.fnmatchcase(mismatch.path, path.replace("[", "[[]")) for path in difference.paths)
