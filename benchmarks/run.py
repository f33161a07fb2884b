"""`python benchmarks/run.py [ROW …]`: runs the rows and prints a table of medians, ratios and targets.

Needs the control plane (`make controlplane`) and Go. Figures depend on the machine: quote the ratios.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0:1] = [str(ROOT), str(ROOT / "tests/e2e/support"), str(ROOT / "tests/conformance/support")]

from benchmarks import binding, growth, placement, requests  # noqa: E402
from benchmarks.peers import CRD, OURS, SAMPLE, Field, field_of  # noqa: E402
from benchmarks.report import Line, table  # noqa: E402

PEERS = (OURS, SAMPLE, CRD)
# Rows that look at the stored objects come before those that add some.
BESIDE_PEERS: dict[str, Callable[[Field, int], list[Line]]] = {
    "start": requests.start,
    "get": requests.get,
    "list": requests.list_all,
    "page": requests.page,
    "memory": requests.memory,
    "watch": requests.watch,
    "create": requests.create,
}
ALONE: dict[str, Callable[[Path, int], list[Line]]] = {
    "growth": growth.growth,
    "placement": placement.placement,
    "bind": binding.bind,
}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join((*BESIDE_PEERS, *ALONE))}")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each row (default 3)")
    parser.add_argument("--objects", type=int, default=10_000, help="objects stored (default 10000)")
    parser.add_argument("--peers", default=",".join(PEERS), help="which servers (default all)")
    options = parser.parse_args()
    rows = options.rows or [*BESIDE_PEERS, *ALONE]
    if unknown := sorted(set(rows) - {*BESIDE_PEERS, *ALONE}):
        parser.error(f"no such row: {', '.join(unknown)}")
    peers = [peer for peer in PEERS if peer in options.peers.split(",")]
    lines: list[Line] = []
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            measure(Path(folder), rows, peers, options, lines)
    finally:
        # What has been measured is shown even when a later row fails.
        print(table(lines, OURS, peers))


def measure(
    folder: Path, rows: list[str], peers: list[str], options: argparse.Namespace, lines: list[Line]
) -> None:
    """Add the lines of all rows, in their order."""
    beside = [name for name in BESIDE_PEERS if name in rows]
    if beside:
        with field_of(folder / "peers", peers) as field:
            if set(beside) - {"create", "watch"}:
                requests.fill(field, options.objects)
            for name in beside:
                lines += BESIDE_PEERS[name](field, options.rounds)
    for name in [name for name in ALONE if name in rows]:
        lines += ALONE[name](folder / name, options.rounds)


if __name__ == "__main__":
    main()
