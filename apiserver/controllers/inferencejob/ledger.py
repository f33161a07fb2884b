"""The ledger of GPUs: one GPUNode object for each node and accelerator, and the pure
functions that change one.

What holds in every stored revision: allocations fit into the capacity.
A placement writes the job and its GPUNodes in one transaction that compares all their revisions;
so it holds whoever else writes at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from apiserver.controllers.inferencejob import names
from apiserver.controllers.informer import Informer

Object = dict[str, Any]


class NoRoom(Exception):  # noqa: N818 - an outcome, not a fault
    """The ledger has fewer free GPUs than were to be booked: the decision was made on an older picture."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a node offers of one resource, as observed in the host cluster."""

    resource: str
    product: str
    capacity: int
    allocatable: int
    foreign: int


def node_of(entry: Object) -> str:
    """The node that a GPUNode is about."""
    return str((entry.get("status") or {}).get("node") or entry["metadata"]["name"])


def resource_of(entry: Object) -> str:
    """The resource that a GPUNode counts."""
    return str((entry.get("status") or {}).get("resource") or "")


def allocations_of(entry: Object) -> list[Object]:
    """The allocations of a GPUNode."""
    return (entry.get("status") or {}).get("allocations") or []


def held(entry: Object) -> int:
    """The GPUs that jobs hold."""
    return sum(int(item["count"]) for item in allocations_of(entry))


def booked(entry: Object, allocations: Iterable[Object]) -> Object:
    """The GPUNode with allocations added. Raises NoRoom if they do not fit."""
    status = entry["status"]
    added = list(allocations)
    total = held(entry) + sum(int(item["count"]) for item in added)
    room = int(status.get("allocatable") or 0) - int(status.get("foreign") or 0)
    if total > room:
        raise NoRoom(f"node {node_of(entry)}: {total} of {room} {resource_of(entry)} would be held")
    return _with_allocations(entry, [*allocations_of(entry), *added])


def released(entry: Object, uid: str, replicas: AbstractSet[int]) -> Object:
    """The GPUNode without the allocations of some replicas of a job."""
    kept = [
        item for item in allocations_of(entry) if item["uid"] != uid or int(item["replica"]) not in replicas
    ]
    return _with_allocations(entry, kept)


def updated(entry: Object, offer: Offer) -> Object:
    """The GPUNode with what was observed. The capacity is not lowered below what is held: a device plugin
    that restarts reports none for a moment, while its devices go on working."""
    observed = {
        "product": offer.product,
        "capacity": max(offer.capacity, held(entry)),
        "allocatable": offer.allocatable,
        "foreign": offer.foreign,
    }
    return _settled({**entry, "status": {**entry["status"], **observed}})


def made(name: str, node: str, offer: Offer) -> Object:
    """A new GPUNode."""
    entry = {
        "apiVersion": names.API_VERSION,
        "kind": "GPUNode",
        "metadata": {"name": name},
        "status": {
            "node": node,
            "resource": offer.resource,
            "product": offer.product,
            "capacity": offer.capacity,
            "allocatable": offer.allocatable,
            "foreign": offer.foreign,
            "allocations": [],
        },
    }
    return _settled(entry)


def entry_name(node: str, resource: str, taken: AbstractSet[str]) -> str:
    """The name of a new GPUNode: the node's; further resources of the node are added to it."""
    return node if node not in taken else f"{node}.{resource.replace('/', '.').lower()}"


def _with_allocations(entry: Object, allocations: list[Object]) -> Object:
    return _settled({**entry, "status": {**entry["status"], "allocations": allocations}})


def _settled(entry: Object) -> Object:
    """With `free` worked out."""
    status = entry["status"]
    free = int(status.get("allocatable") or 0) - int(status.get("foreign") or 0) - held(entry)
    return {**entry, "status": {**status, "free": max(free, 0)}}


class Ledger:
    """Read access to the ledger, by node and by job. The informer needs the indexes of `INDEXERS`."""

    def __init__(self, entries: Informer) -> None:
        self._entries = entries

    def on_node(self, node: str) -> list[Object]:
        """The GPUNodes of a node."""
        return self._entries.store.by_index("node", node)

    def entry(self, node: str, resource: str) -> Object | None:
        """The GPUNode of a node that counts a resource."""
        return next((entry for entry in self.on_node(node) if resource_of(entry) == resource), None)

    def of_job(self, uid: str) -> dict[int, tuple[Object, Object]]:
        """What a job holds: (GPUNode, allocation) by replica."""
        return {
            int(item["replica"]): (entry, item)
            for entry in self._entries.store.by_index("uid", uid)
            for item in allocations_of(entry)
            if item["uid"] == uid
        }

    def record(self, entries: Iterable[Object]) -> None:
        """Take in GPUNodes that were just written."""
        for entry in entries:
            self._entries.record(entry)


def _uids(entry: Object) -> set[str]:
    return {str(item["uid"]) for item in allocations_of(entry)}


INDEXERS: Mapping[str, Any] = {"node": lambda entry: [node_of(entry)], "uid": _uids}
