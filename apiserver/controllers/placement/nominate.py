"""Find nodes for a gang: all of it, or nothing.

One replica goes where the fewest GPUs are left over, so that whole nodes stay free. A gang goes into one
zone if one can hold it (of several: where it needs the fewest nodes, then leaves the least over); if none
can, across zones. Among nodes, the gang takes those that hold most of its replicas, and the rest goes where
it fits best. Equal choices are settled by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from apiserver.controllers.placement.fleet import Fleet, Pool
from apiserver.controllers.placement.model import Assignment, Demand

NONE: frozenset[str] = frozenset()
FEW_NODES = 64
"""With so few nodes behind a selector, it is cheaper to look at them than at the buckets."""


def nominate(
    fleet: Fleet, demand: Demand, replicas: int, *, excluded: AbstractSet[str] = NONE
) -> Assignment | None:
    """Nodes for all the replicas, or None. Books nothing. `excluded` nodes are not considered."""
    pools = _pools(fleet, demand)
    if replicas == 1:
        best = _Packing(fleet, demand, pools, excluded).best_fit(1)
        return ((best, 1),) if best is not None else None
    zones: dict[str, list[Pool]] = {}
    for pool in pools:
        zones.setdefault(pool.key[2], []).append(pool)
    choices = [
        packed
        for _, members in sorted(zones.items())
        if (packed := _pack(fleet, demand, members, replicas, excluded)) is not None
    ]
    if choices:
        return min(choices, key=lambda choice: (len(choice), _left_over(fleet, demand, choice)))
    return _pack(fleet, demand, pools, replicas, excluded) if len(zones) > 1 else None


def _pools(fleet: Fleet, demand: Demand) -> Sequence[Pool]:
    """The pools to look at: cut down to the selected nodes when those are few."""
    selected = fleet.selected(demand)
    if selected is None or len(selected) > FEW_NODES:
        return fleet.pools(demand)
    pools = []
    for pool in fleet.pools(demand):
        small = Pool(pool.key)
        for name in selected:
            if pool.has(name, fleet.nodes[name].free.get(demand.resource, 0)):
                small.add(name, fleet.nodes[name].free[demand.resource])
        if small.size:
            pools.append(small)
    return pools


def _pack(
    fleet: Fleet, demand: Demand, pools: Sequence[Pool], replicas: int, excluded: AbstractSet[str]
) -> Assignment | None:
    if sum(pool.capacity(demand.gpus) for pool in pools) < replicas:
        return None
    packing = _Packing(fleet, demand, pools, excluded)
    chosen: list[tuple[str, int]] = []
    left = replicas
    while left:
        last = packing.best_fit(left)
        if last is not None:
            chosen.append((last, left))
            break
        most = packing.largest()
        if most is None:
            return None
        # Never more than is left: a node that could hold all of it would have been the best fit.
        chosen.append(most)
        left -= most[1]
    return tuple(chosen)


@dataclass(slots=True)
class _Packing:
    """One search. Nodes that it gives out by `largest` are not given out again; nothing is booked."""

    fleet: Fleet
    demand: Demand
    pools: Sequence[Pool]
    excluded: AbstractSet[str]
    _used: set[str] = field(default_factory=set)
    _cursors: dict[int, Iterator[str]] = field(default_factory=dict)
    _limited: list[tuple[int, str]] = field(default_factory=list)

    def best_fit(self, replicas: int) -> str | None:
        """The node with the fewest free GPUs that holds so many replicas."""
        fleet, demand = self.fleet, self.demand
        for free in range(replicas * demand.gpus, self._top()):
            for pool in self.pools:
                if free >= len(pool.buckets):
                    continue
                for name in pool.buckets[free]:
                    if name in self.excluded or name in self._used:
                        continue
                    node = fleet.nodes[name]
                    if node.room(demand) >= replicas and node.selected(demand):
                        return name
        return None

    def largest(self) -> tuple[str, int] | None:
        """The node that holds most replicas, and how many; of equals the one with the fewest free GPUs."""
        for free in self._by_room():
            bound = free // self.demand.gpus
            if self._limited and self._limited[0][0] <= -bound:
                break
            for name in self._cursor(free):
                room = self._usable(name)
                if room == bound:
                    self._used.add(name)
                    return name, room
                if room:
                    self._limit(name, room)
        if not self._limited:
            return None
        negative, name = heapq.heappop(self._limited)
        self._used.add(name)
        return name, -negative

    def _limit(self, name: str, room: int) -> None:
        """Keep a node that CPU, memory or pods limit, for when nodes with more room are used up."""
        heapq.heappush(self._limited, (-room, name))

    def _usable(self, name: str) -> int:
        if name in self.excluded or name in self._used:
            return 0
        node = self.fleet.nodes[name]
        return node.room(self.demand) if node.selected(self.demand) else 0

    def _top(self) -> int:
        return max((len(pool.buckets) for pool in self.pools), default=0)

    def _by_room(self) -> list[int]:
        """Numbers of free GPUs: most replicas first, then least left over."""
        gpus = self.demand.gpus
        return sorted(range(gpus, self._top()), key=lambda free: (-(free // gpus), free))

    def _cursor(self, free: int) -> Iterator[str]:
        cursor = self._cursors.get(free)
        if cursor is None:
            cursor = self._cursors[free] = _names(self.pools, free)
        return cursor


def _names(pools: Iterable[Pool], free: int) -> Iterator[str]:
    for pool in pools:
        if free < len(pool.buckets):
            yield from pool.buckets[free]


def _left_over(fleet: Fleet, demand: Demand, assignment: Assignment) -> int:
    """GPUs that stay free on the nodes of an assignment."""
    return sum(fleet.nodes[name].free[demand.resource] - count * demand.gpus for name, count in assignment)
