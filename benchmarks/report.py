"""What the rows found, as a table: medians of the rounds, ratios, and whether the target is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass
class Line:
    """One figure of one row. `values` has the rounds of each peer; more is better unless `less_is_better`.

    `target` is the ratio of ours to `against` that is wanted (at least, or at most where less is better);
    0 means that there is none. Without `against` it is the figure itself that is wanted.
    """

    title: str
    unit: str
    values: dict[str, list[float]] = field(default_factory=dict)
    against: str = ""
    target: float = 0.0
    less_is_better: bool = False

    def median(self, peer: str) -> float:
        """The median of a peer's rounds."""
        return median(self.values[peer])

    def ratio(self, ours: str, peer: str) -> float:
        """Ours to theirs: the median of the rounds' ratios, as what disturbs a round disturbs all in it."""
        mine, theirs = self.values[ours], self.values[peer]
        if len(mine) == len(theirs):
            return median(a / b if b else float("inf") for a, b in zip(mine, theirs, strict=True))
        return self.median(ours) / self.median(peer)

    def verdict(self, ours: str) -> str:
        """ "met", "MISSED", or nothing where there is no target or the peer was not measured."""
        if not self.target or ours not in self.values or (self.against and self.against not in self.values):
            return ""
        reached = self.ratio(ours, self.against) if self.against else self.median(ours)
        good = reached <= self.target if self.less_is_better else reached >= self.target
        return "met" if good else "MISSED"


def table(lines: Sequence[Line], ours: str, peers: Sequence[str]) -> str:
    """A Markdown table."""
    measured = dict.fromkeys(peer for line in lines for peer in line.values)
    others = [peer for peer in dict.fromkeys([*peers, *measured]) if peer != ours and peer in measured]
    head = ["", "unit", ours, *others, *(f"ours / {peer}" for peer in others), "target", ""]
    rows = [head, ["-"] * len(head)]
    for line in lines:
        figures = [_number(line.median(peer)) if peer in line.values else "–" for peer in (ours, *others)]
        ratios = [
            f"{line.ratio(ours, peer):.2f}" if ours in line.values and peer in line.values else "–"
            for peer in others
        ]
        rows.append([line.title, line.unit, *figures, *ratios, _target(line), line.verdict(ours)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    rows[1] = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    )


def _target(line: Line) -> str:
    if not line.target:
        return ""
    sign = "≤" if line.less_is_better else "≥"
    return f"{sign} {line.target:g}" + (f" × {line.against}" if line.against else "")


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
