"""The controller of GPUNodes: keeps the ledger in step with the nodes of the host cluster.

It makes an entry for each node and accelerator, notes what is offered and what pods of others hold, clears
allocations of jobs that no longer exist, and takes entries away when the node is gone and nothing is booked
on it any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.controllers.clients import Change, is_already_exists, is_not_found
from apiserver.controllers.inferencejob import ledger, names
from apiserver.controllers.inferencejob.cluster import Cluster
from apiserver.controllers.inferencejob.ledger import Offer
from apiserver.controllers.inferencejob.pods import replica_of
from apiserver.controllers.inferencejob.podstate import has_unhealthy_device
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.inferencejob.world import World
from apiserver.controllers.placement.facts import amounts, is_ready, is_terminal, product_of
from apiserver.controllers.reconciler import DONE, Result
from apiserver.controllers.store import split_key
from apiserver.machinery.errors import APIError

Object = dict[str, Any]

SHORT_SECONDS = 120.0
"""How long a node may offer fewer GPUs than are held before replicas have to leave:
device plugins restart."""


class GPUNodeController:
    """Keys are names of nodes. `wake_job` has a job reconciled."""

    def __init__(self, world: World, wake_job: Callable[[str], None]) -> None:
        self._world = world
        self._cluster: Cluster = world.cluster
        self._wake_job = wake_job
        self._short_since: dict[str, float] = {}

    async def reconcile(self, name: str) -> Result:
        """Bring the entries of one node up to date."""
        node = self._world.nodes.store.get(name)
        offers = self._offers(node) if node is not None else {}
        entries = self._cluster.ledger.on_node(name)
        for resource in offers.keys() - {ledger.resource_of(entry) for entry in entries}:
            await self._make(name, offers[resource])
        waits: list[float] = []
        for entry in entries:
            fresh = await self._without_dead(entry)
            fresh = self._observed(fresh, offers.get(ledger.resource_of(entry)))
            await self._write(entry, fresh, gone=ledger.resource_of(entry) not in offers)
            wait = self._watch_shortage(fresh, node)
            if wait is not None:
                waits.append(wait)
        return Result(requeue_after=min(waits)) if waits else DONE

    def _offers(self, node: Object) -> dict[str, Offer]:
        capacity, allocatable = amounts(node, "capacity"), amounts(node, "allocatable")
        name = str(node["metadata"]["name"])
        known = {ledger.resource_of(entry) for entry in self._cluster.ledger.on_node(name)}
        return {
            resource: Offer(
                resource=resource,
                product=product_of(node, resource),
                capacity=total,
                allocatable=min(allocatable.get(resource, 0), total),
                foreign=self._cluster.foreign(name, resource),
            )
            for resource, total in capacity.items()
            if total or resource in known
        }

    def _observed(self, entry: Object, offer: Offer | None) -> Object:
        if offer is None:
            product = entry["status"].get("product") or ""
            offer = Offer(ledger.resource_of(entry), product, ledger.held(entry), 0, 0)
        return ledger.updated(entry, offer)

    async def _make(self, node: str, offer: Offer) -> None:
        taken = {str(entry["metadata"]["name"]) for entry in self._cluster.ledger.on_node(node)}
        name = ledger.entry_name(node, offer.resource, taken)
        change = Change(names.GPU_NODES, ledger.made(name, node, offer), "create")
        try:
            self._cluster.ledger.record(await self._world.objects.transact([change]))
        except APIError as error:
            if not is_already_exists(error):
                raise
            self._cluster.ledger.record([await self._world.objects.get(names.GPU_NODES, "", name)])

    async def _write(self, old: Object, new: Object, *, gone: bool) -> None:
        """Write what has changed; nothing if nothing has."""
        if gone and not ledger.allocations_of(new):
            try:
                await self._world.objects.transact([Change(names.GPU_NODES, old, "delete")])
            except APIError as error:
                if not is_not_found(error):
                    raise
            self._short_since.pop(old["metadata"]["name"], None)
            return
        if new != old:
            written = await self._world.objects.transact([Change(names.GPU_NODES, new, "update")])
            self._cluster.ledger.record(written)

    async def _without_dead(self, entry: Object) -> Object:
        """Clear allocations of jobs that are gone together with their pods:
        somebody took the finalizer off."""
        for item in ledger.allocations_of(entry):
            if await self._is_dead(item):
                entry = ledger.released(entry, item["uid"], {int(item["replica"])})
        return entry

    async def _is_dead(self, item: Object) -> bool:
        job = self._world.jobs.store.get(item["job"])
        if job is not None and job["metadata"]["uid"] == item["uid"]:
            return False
        namespace, name = split_key(item["job"])
        try:
            job = await self._world.objects.get(names.JOBS, namespace, name)
        except APIError as error:
            if not is_not_found(error):
                raise
        else:
            if job["metadata"]["uid"] == item["uid"]:
                return False
        return not any(
            replica_of(pod) == int(item["replica"]) and not is_terminal(pod)
            for pod in self._world.pods.store.by_index("owner", item["uid"])
        )

    def _watch_shortage(self, entry: Object, node: Object | None) -> float | None:
        """Note replicas that must leave a node that has lost GPUs; returns when to look again."""
        name = str(entry["metadata"]["name"])
        missing = ledger.held(entry) - int(entry["status"].get("allocatable") or 0)
        if missing <= 0 or node is None or not is_ready(node):
            self._short_since.pop(name, None)
            self._world.unhealthy.pop(ledger.node_of(entry), None)
            return None
        now = self._world.clock.monotonic()
        left = self._short_since.setdefault(name, now) + SHORT_SECONDS - now
        if left > 0:
            return left
        leavers = self._leavers(entry, missing)
        self._world.unhealthy[ledger.node_of(entry)] = frozenset(
            (str(item["uid"]), int(item["replica"])) for item in leavers
        )
        for item in leavers:
            self._wake_job(item["job"])
        return None

    def _leavers(self, entry: Object, missing: int) -> list[Object]:
        """The allocations that leave: those with unhealthy devices, then of low priority, then young ones."""
        leavers: list[Object] = []
        for item in sorted(ledger.allocations_of(entry), key=self._rank):
            if missing <= 0:
                break
            leavers.append(item)
            missing -= int(item["count"])
        return leavers

    def _rank(self, item: Object) -> tuple[bool, int, float, int]:
        pods = self._world.pods.store.by_index("owner", item["uid"])
        sick = any(replica_of(pod) == int(item["replica"]) and has_unhealthy_device(pod) for pod in pods)
        job = self._world.jobs.store.get(item["job"])
        if job is None:
            return (not sick, 0, 0.0, -int(item["replica"]))
        view = JobView(job)
        return (not sick, view.priority, -view.created.timestamp(), -int(item["replica"]))
