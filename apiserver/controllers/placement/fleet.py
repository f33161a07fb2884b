"""The fleet: what each node has free, indexed so that a decision costs the same on ten
nodes and on ten thousand.

Nodes that are alike in (resource, product, zone, taints) form a pool; a pool keeps its nodes in buckets by
the number of free GPUs, each bucket sorted by name. A decision walks buckets, not nodes.
The fleet is changed in place by `take` and `give`; it is deterministic: the same facts give the same order.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from apiserver.controllers.placement.model import Accelerators, Demand, NodeFacts, Taint, Toleration, Usage

_HARD_EFFECTS = ("NoSchedule", "NoExecute")
PoolKey = tuple[str, str, str, tuple[Taint, ...]]


@dataclass(slots=True)
class Node:
    """A node and what is free on it. `free` may be negative where foreign pods took what was promised."""

    facts: NodeFacts
    free: dict[str, int]
    cpu: int
    memory: int
    pods: int

    def room(self, demand: Demand) -> int:
        """How many replicas fit, by amounts alone."""
        fit = min(self.free.get(demand.resource, 0) // demand.gpus, self.pods)
        if demand.cpu:
            fit = min(fit, self.cpu // demand.cpu)
        if demand.memory:
            fit = min(fit, self.memory // demand.memory)
        return max(fit, 0)

    def selected(self, demand: Demand) -> bool:
        """Whether the node has the labels that are asked for."""
        labels = self.facts.labels
        return all(labels.get(key) == value for key, value in demand.selector)


@dataclass(slots=True)
class Pool:
    """Nodes that are alike, by free GPUs."""

    key: PoolKey
    buckets: list[list[str]] = field(default_factory=list)
    size: int = 0

    def add(self, name: str, free: int) -> None:
        """Put a node into the bucket of its free GPUs."""
        free = max(free, 0)
        while len(self.buckets) <= free:
            self.buckets.append([])
        insort(self.buckets[free], name)
        self.size += 1

    def discard(self, name: str, free: int) -> None:
        """Take a node out of the bucket in which it is."""
        bucket = self.buckets[max(free, 0)]
        del bucket[bisect_left(bucket, name)]
        self.size -= 1

    def has(self, name: str, free: int) -> bool:
        """Whether a node with so many free GPUs is in the pool."""
        free = max(free, 0)
        if free >= len(self.buckets):
            return False
        bucket = self.buckets[free]
        at = bisect_left(bucket, name)
        return at < len(bucket) and bucket[at] == name

    def capacity(self, gpus: int) -> int:
        """An upper bound of the replicas with so many GPUs that fit into the pool."""
        return sum(len(self.buckets[free]) * (free // gpus) for free in range(gpus, len(self.buckets)))


class Fleet:
    """See the module."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.grown = 0
        """Counts the changes after which something may fit that did not before."""
        self._pools: dict[PoolKey, Pool] = {}
        self._labels: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._matching: dict[tuple[str, tuple[str, ...], tuple[Toleration, ...]], list[Pool]] = {}

    def set_node(self, facts: NodeFacts, used: dict[str, int], usage: Usage) -> None:
        """Add or replace a node. `used` are the GPUs held by our jobs, by resource."""
        free = {name: have.usable - used.get(name, 0) for name, have in facts.accelerators.items()}
        node = Node(facts, free, facts.cpu - usage.cpu, facts.memory - usage.memory, facts.pods - usage.pods)
        if self.nodes.get(facts.name) == node:
            return
        self.remove_node(facts.name)
        self.nodes[facts.name] = node
        for pair in facts.labels.items():
            self._labels[pair].add(facts.name)
        for resource, have in self._offers(node):
            self._pool(resource, have, facts).add(facts.name, free[resource])
        self.grown += 1

    def remove_node(self, name: str) -> None:
        """Forget a node."""
        node = self.nodes.pop(name, None)
        if node is None:
            return
        for pair in node.facts.labels.items():
            names = self._labels[pair]
            names.discard(name)
            if not names:
                del self._labels[pair]
        for resource, have in self._offers(node):
            self._pool(resource, have, node.facts).discard(name, node.free[resource])

    def take(self, name: str, demand: Demand, replicas: int) -> None:
        """Book replicas on a node."""
        self._shift(name, demand, replicas)

    def give(self, name: str, demand: Demand, replicas: int) -> None:
        """Undo a `take`. Does nothing for a node that is gone."""
        self._shift(name, demand, -replicas)
        self.grown += 1

    def pools(self, demand: Demand) -> list[Pool]:
        """The pools whose product and taints suit the demand, in a fixed order."""
        key = (demand.resource, demand.products, demand.tolerations)
        found = self._matching.get(key)
        if found is None:
            found = [pool for _, pool in sorted(self._pools.items()) if _suits(pool.key, demand)]
            self._matching[key] = found
        return found

    def selected(self, demand: Demand) -> set[str] | None:
        """The nodes with the rarest label of the demand's selector; None without a selector."""
        sets = [self._labels.get(pair, set()) for pair in demand.selector]
        return min(sets, key=len) if sets else None

    def _offers(self, node: Node) -> Iterator[tuple[str, Accelerators]]:
        """What a node offers to placement: nothing while there is an obstacle."""
        if not node.facts.obstacle:
            yield from node.facts.accelerators.items()

    def _pool(self, resource: str, have: Accelerators, facts: NodeFacts) -> Pool:
        key = (resource, have.product, facts.zone, hard_taints(facts))
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = Pool(key)
            self._matching.clear()
        return pool

    def _shift(self, name: str, demand: Demand, replicas: int) -> None:
        node = self.nodes.get(name)
        if node is None or demand.resource not in node.free:
            return
        before = node.free[demand.resource]
        after = before - replicas * demand.gpus
        node.free[demand.resource] = after
        node.cpu -= replicas * demand.cpu
        node.memory -= replicas * demand.memory
        node.pods -= replicas
        if not node.facts.obstacle:
            pool = self._pool(demand.resource, node.facts.accelerators[demand.resource], node.facts)
            pool.discard(name, before)
            pool.add(name, after)


def hard_taints(facts: NodeFacts) -> tuple[Taint, ...]:
    """The taints that keep replicas away, in a fixed order."""
    if not facts.taints:
        return ()
    hard = [taint for taint in facts.taints if taint.effect in _HARD_EFFECTS]
    return tuple(sorted(hard))


def untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that no toleration matches."""
    for taint in taints:
        if not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None


def _suits(key: PoolKey, demand: Demand) -> bool:
    resource, product, _, taints = key
    if resource != demand.resource or (demand.products and product not in demand.products):
        return False
    return untolerated(taints, demand.tolerations) is None
