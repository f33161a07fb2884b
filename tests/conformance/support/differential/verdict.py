"""From two series of answers to a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from differential.compare import Mismatch, differ
from differential.differences import Difference


@dataclass(frozen=True)
class Verdict:
    """`unexpected` is what differs without being listed; `gone` is what is listed for it and not there."""

    case: str
    unexpected: tuple[Mismatch, ...]
    listed: tuple[Difference, ...]
    gone: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether there is no difference at all, listed or not."""
        return not (self.unexpected or self.listed)

    def __str__(self) -> str:
        lines = [str(mismatch) for mismatch in self.unexpected]
        lines += [f"listed as different, but is the same: {difference.reason}" for difference in self.gone]
        return "\n".join([self.case, *lines])


def judge(
    case: str,
    theirs: Sequence[dict[str, Any]],
    ours: Sequence[dict[str, Any]],
    differences: Sequence[Difference],
) -> Verdict:
    """Compare the answers of one case, step by step."""
    assert len(theirs) == len(ours)
    steps = enumerate(zip(theirs, ours, strict=True))
    found = [m for number, (one, other) in steps for m in differ(one, other, f"[{number}]", (one, other))]
    explained = {id(m): [d for d in differences if d.explains(m)] for m in found}
    met = [d for d in differences if any(d in explained[id(m)] for m in found)]
    return Verdict(
        case,
        unexpected=tuple(m for m in found if not explained[id(m)]),
        listed=tuple(met),
        gone=tuple(d for d in differences if d.cases and d not in met),
    )
