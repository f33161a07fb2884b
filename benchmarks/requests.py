"""The rows that send requests to all peers in turn: GET, LIST, CREATE, WATCH, start and memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from benchmarks.load import Measured, fan_out, requests
from benchmarks.peers import CRD, SAMPLE, SCRATCH, Field, Peer
from benchmarks.report import Line

Run = Callable[[Peer, int], Measured]
MEBIBYTE = 1024 * 1024
SETTLE_SECONDS = 2.0


def fill(field: Field, count: int) -> None:
    """Bring every peer to `count` objects in the namespace that reads look at."""
    for peer in field.peers.values():
        made = requests(peer, "POST", peer.path(), count=count, connections=16, create=True)
        _say(f"{peer.name}: {count} objects made in {made.seconds:.1f} s")


def in_turn(field: Field, title: str, rounds: int, run: Run) -> dict[str, list[Measured]]:
    """Run on every peer, round by round, so that what disturbs the machine disturbs all alike."""
    found: dict[str, list[Measured]] = {name: [] for name in field.peers}
    for number in range(rounds):
        for name, peer in field.peers.items():
            measured = run(peer, number)
            found[name].append(measured)
            _say(
                f"{title}, round {number + 1}, {name}: {measured.rate:,.0f}/s, p50 {measured.p50:.2f} ms, "
                f"p99 {measured.p99:.2f} ms, {measured.cpu:.3f} ms CPU each"
            )
    return found


def _line(found: dict[str, list[Measured]], attribute: str, title: str, unit: str) -> Line:
    values = {name: [getattr(one, attribute) for one in some] for name, some in found.items()}
    return Line(title, unit, values, less_is_better=attribute != "rate")


def _lines(found: dict[str, list[Measured]], title: str, against: str, target: float) -> list[Line]:
    rate = _line(found, "rate", title, "1/s")
    rate.against, rate.target = against, target
    return [rate, _line(found, "p50", "  p50", "ms"), _line(found, "cpu", "  CPU of the server, each", "ms")]


def get(field: Field, rounds: int) -> list[Line]:
    """GET of one object over 32 connections."""
    found = in_turn(
        field,
        "GET",
        rounds,
        lambda peer, _: requests(
            peer, "GET", peer.path(name="{name}"), count=4000, connections=32, modulo=100
        ),
    )
    return _lines(found, "GET, 32 connections", SAMPLE, 1.2)


def list_all(field: Field, rounds: int) -> list[Line]:
    """LIST of all objects over one connection."""
    found = in_turn(
        field,
        "LIST",
        rounds,
        lambda peer, _: requests(peer, "GET", peer.path(), count=5, connections=1),
    )
    time_line = _line(found, "p50", "LIST of all, 1 connection", "ms")
    time_line.against, time_line.target = SAMPLE, 0.25
    return [time_line, _line(found, "cpu", "  CPU of the server, each", "ms")]


def page(field: Field, rounds: int) -> list[Line]:
    """LIST with limit=500 over 4 connections."""
    found = in_turn(
        field,
        "LIST limit=500",
        rounds,
        lambda peer, _: requests(peer, "GET", f"{peer.path()}?limit=500", count=160, connections=4),
    )
    return _lines(found, "LIST limit=500, 4 connections", SAMPLE, 4)


def create(field: Field, rounds: int) -> list[Line]:
    """CREATE over 32 connections."""
    found = in_turn(
        field,
        "CREATE",
        rounds,
        lambda peer, number: requests(
            peer,
            "POST",
            peer.path(SCRATCH),
            count=1600,
            connections=32,
            create=True,
            prefix=f"c{number}-",
        ),
    )
    return _lines(found, "CREATE, 32 connections", SAMPLE, 1)


def watch(field: Field, rounds: int) -> list[Line]:
    """100 watchers see 500 creates: as fast as these go, and at 100 creates a second."""
    paths = {name: peer.path(SCRATCH) for name, peer in field.peers.items()}

    def run(peer: Peer, prefix: str, creates: int, rate: float) -> Measured:
        path = paths[peer.name]
        return fan_out(peer, path, watchers=100, creates=creates, connections=16, prefix=prefix, rate=rate)

    fast = in_turn(field, "WATCH", rounds, lambda peer, number: run(peer, f"w{number}-", 500, 0))
    paced = in_turn(field, "WATCH paced", rounds, lambda peer, number: run(peer, f"p{number}-", 300, 100))
    rate = _line(fast, "rate", "WATCH deliveries, 100 watchers", "1/s")
    rate.against, rate.target = CRD, 1.0
    late = _line(paced, "p99", "  p99 from create to event, 100 creates/s", "ms")
    late.against, late.target = CRD, 1.0
    return [
        rate,
        _line(fast, "p99", "  p99 from create to event", "ms"),
        _line(fast, "cpu", "  CPU of the server, each", "ms"),
        _line(fast, "missed", "  events missed by watchers cut off", ""),
        late,
    ]


def start(field: Field, rounds: int) -> list[Line]:
    """From nothing to ready with all objects stored, and what is resident after one LIST.

    kube-apiserver is not started anew: the others hang on it. Its memory is that of the whole server.
    """
    seconds: dict[str, list[float]] = {}
    listed: dict[str, list[float]] = {}
    resident: dict[str, list[float]] = {}
    for number in range(rounds):
        for name, peer in field.peers.items():
            if name != CRD:
                peer.process.stop()
                began = time.monotonic()
                peer.process.start()
                peer.process.wait_until(peer.ready, 60)
                seconds.setdefault(name, []).append(time.monotonic() - began)
                peer.process.wait_until(peer.lists, 60)
                listed.setdefault(name, []).append(time.monotonic() - began)
            else:
                peer.lists()
            time.sleep(SETTLE_SECONDS)
            resident.setdefault(name, []).append(peer.resident() / MEBIBYTE)
            took = (
                ""
                if name == CRD
                else f"{seconds[name][-1]:.2f} s to ready, {listed[name][-1]:.2f} s to LIST, "
            )
            _say(f"start, round {number + 1}, {name}: {took}{resident[name][-1]:.0f} MiB")
    return [
        Line("start to ready", "s", seconds, target=2.0, less_is_better=True),
        Line("  start to the first LIST of all", "s", listed, less_is_better=True),
        Line("memory with the objects, fresh", "MiB", resident, less_is_better=True),
    ]


def memory(field: Field, rounds: int) -> list[Line]:
    """What is resident with the objects stored and after they have been read a few times."""
    for peer in field.peers.values():
        requests(peer, "GET", peer.path(), count=8, connections=4)
    resident: dict[str, list[float]] = {name: [] for name in field.peers}
    for _ in range(rounds):
        time.sleep(SETTLE_SECONDS)
        for name, peer in field.peers.items():
            resident[name].append(peer.resident() / MEBIBYTE)
    return [Line("memory with the objects, read", "MiB", resident, SAMPLE, 0.5, less_is_better=True)]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
