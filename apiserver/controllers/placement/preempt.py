"""Whom to evict for a job of higher priority: whole jobs, only of lower priority,
and only as many as it takes.

Candidates are ordered from the least to the most painful (lowest priority, then youngest first). The
shortest prefix of them whose GPUs make room is found by bisection; then those of the prefix that turn out
not to be needed are spared, the most painful first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from apiserver.controllers.placement.fleet import Fleet
from apiserver.controllers.placement.model import Pending, Running
from apiserver.controllers.placement.nominate import NONE, nominate

MAX_SPARED = 512
"""How many victims at most are looked at a second time."""


def victims(
    fleet: Fleet, job: Pending, running: Iterable[Running], *, excluded: AbstractSet[str] = NONE
) -> list[str] | None:
    """The keys of the jobs to evict, or None if no eviction makes room. The fleet is as before afterwards."""
    usable = {name for pool in fleet.pools(job.demand) for bucket in pool.buckets for name in bucket}
    candidates = [
        other
        for other in running
        if other.priority < job.priority
        and other.demand.resource == job.demand.resource
        and any(name in usable and name not in excluded for name, _ in other.assignment)
    ]
    candidates.sort(key=lambda other: (other.priority, -other.since, other.key))
    grown = fleet.grown
    try:
        return _fewest(fleet, job, candidates, excluded)
    finally:
        # What was given was taken back: nothing has grown.
        fleet.grown = grown


def _fewest(
    fleet: Fleet, job: Pending, candidates: Sequence[Running], excluded: AbstractSet[str]
) -> list[str] | None:
    low, high = 1, len(candidates)
    if not candidates or not _fits_without(fleet, job, candidates, excluded):
        return None
    while low < high:
        middle = (low + high) // 2
        if _fits_without(fleet, job, candidates[:middle], excluded):
            high = middle
        else:
            low = middle + 1
    return _spare(fleet, job, list(candidates[:low]), excluded)


def _fits_without(fleet: Fleet, job: Pending, evicted: Sequence[Running], excluded: AbstractSet[str]) -> bool:
    for other in evicted:
        _give(fleet, other)
    fits = nominate(fleet, job.demand, job.replicas, excluded=excluded) is not None
    for other in evicted:
        _take(fleet, other)
    return fits


def _spare(fleet: Fleet, job: Pending, evicted: list[Running], excluded: AbstractSet[str]) -> list[str]:
    for other in evicted:
        _give(fleet, other)
    needed: list[Running] = []
    for position, other in enumerate(reversed(evicted)):
        if position < MAX_SPARED:
            _take(fleet, other)
            if nominate(fleet, job.demand, job.replicas, excluded=excluded) is not None:
                continue
            _give(fleet, other)
        needed.append(other)
    for other in needed:
        _take(fleet, other)
    return [other.key for other in reversed(needed)]


def _give(fleet: Fleet, other: Running) -> None:
    for name, count in other.assignment:
        fleet.give(name, other.demand, count)


def _take(fleet: Fleet, other: Running) -> None:
    for name, count in other.assignment:
        fleet.take(name, other.demand, count)
