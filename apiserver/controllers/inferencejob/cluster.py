"""The fleet as it is: keeps placement's picture in step with nodes, pods and the ledger, node by node.

What a node has free of an accelerator is what the ledger says it offers, less what jobs hold by the ledger,
less what pods hold that are not in the ledger ("foreign": of other schedulers, or left over). CPU, memory
and pod slots are those of the pods that are there, and of replicas that are booked and whose pods are still
to come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from apiserver.controllers.inferencejob.ledger import Ledger, allocations_of, held, resource_of
from apiserver.controllers.inferencejob.pods import demand_of, owner_uid, replica_of
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.informer import Informer
from apiserver.controllers.placement.facts import PodUse, amounts, is_terminal, node_facts, pod_use
from apiserver.controllers.placement.fleet import Fleet
from apiserver.controllers.placement.model import Accelerators, Demand, NodeFacts, Usage
from apiserver.controllers.store import key_of

Object = dict[str, Any]


class Cluster:
    """See the module. `changed` is called with the name of a node whose free amounts may have changed."""

    def __init__(self, jobs: Informer, nodes: Informer, pods: Informer, entries: Informer) -> None:
        self.fleet = Fleet()
        self.ledger = Ledger(entries)
        self.changed: list[Callable[[str], None]] = []
        self._jobs = jobs
        self._nodes = nodes
        self._uses: defaultdict[str, dict[str, tuple[str, int | None, PodUse]]] = defaultdict(dict)
        self._dirty: set[str] = set()
        self._facts: dict[str, tuple[str, NodeFacts, dict[str, int]]] = {}
        self._demands: dict[str, tuple[int, Demand]] = {}
        nodes.add_handler(self._on_node)
        pods.add_handler(self._on_pod)
        entries.add_handler(self._on_entry)
        jobs.add_handler(self._on_job)

    def refresh(self) -> None:
        """Bring the fleet up to date; call it before planning."""
        for name in self._dirty:
            self._refresh(name)
        self._dirty.clear()

    def touch(self, node: str) -> None:
        """Have a node worked out anew: something was booked on it in the fleet,
        and perhaps not in the ledger."""
        self._dirty.add(node)

    def demand(self, view: JobView) -> Demand:
        """The demand of a job, worked out once a generation."""
        known = self._demands.get(view.uid)
        if known is None or known[0] != view.generation:
            known = self._demands[view.uid] = (view.generation, demand_of(view))
        return known[1]

    def foreign(self, node: str, resource: str) -> int:
        """GPUs held on a node by pods that the ledger does not know."""
        ours = self._booked(node)
        return sum(
            use.accelerators.get(resource, 0)
            for uid, replica, use in self._uses.get(node, {}).values()
            if use.accelerators and (uid, replica) not in ours
        )

    def _booked(self, node: str) -> dict[tuple[str, int | None], Object]:
        return {
            (str(item["uid"]), int(item["replica"])): item
            for entry in self.ledger.on_node(node)
            for item in allocations_of(entry)
        }

    def _refresh(self, name: str) -> None:
        node = self._nodes.store.get(name)
        if node is None:
            self.fleet.remove_node(name)
            self._facts.pop(name, None)
            return
        base, allocatable = self._base(name, node)
        accelerators: dict[str, Accelerators] = {}
        used: dict[str, int] = {}
        for entry in self.ledger.on_node(name):
            resource = resource_of(entry)
            status = entry["status"]
            offered = min(allocatable.get(resource, 0), int(status.get("allocatable") or 0))
            foreign = max(self.foreign(name, resource), int(status.get("foreign") or 0))
            accelerators[resource] = Accelerators(status.get("product") or "", offered - foreign)
            used[resource] = held(entry)
        facts = replace(base, accelerators=accelerators)
        self.fleet.set_node(facts, used, self._usage(name))

    def _base(self, name: str, node: Object) -> tuple[NodeFacts, dict[str, int]]:
        """The facts of the node itself, read once a version of it."""
        version = str(node["metadata"].get("resourceVersion"))
        known = self._facts.get(name)
        if known is None or known[0] != version:
            known = self._facts[name] = (version, node_facts(node, {}), amounts(node, "allocatable"))
        return known[1], known[2]

    def _usage(self, name: str) -> Usage:
        cpu = memory = count = 0
        present: set[tuple[str, int | None]] = set()
        for uid, replica, use in self._uses.get(name, {}).values():
            cpu, memory, count = cpu + use.cpu, memory + use.memory, count + 1
            present.add((uid, replica))
        for (uid, replica), item in self._booked(name).items():
            if (uid, replica) in present:
                continue
            job = self._jobs.store.get(item["job"])
            if job is not None and job["metadata"]["uid"] == uid:
                demand = self.demand(JobView(job))
                cpu, memory = cpu + demand.cpu, memory + demand.memory
            count += 1
        return Usage(cpu, memory, count)

    def _on_node(self, old: Object | None, new: Object | None) -> None:
        node = new or old
        if node is not None:
            self._mark(str(node["metadata"]["name"]))

    def _on_entry(self, old: Object | None, new: Object | None) -> None:
        for entry in (old, new):
            if entry is not None:
                self._mark(str((entry.get("status") or {}).get("node") or entry["metadata"]["name"]))

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        before = _node_name(old)
        after = _node_name(new) if new is not None and not is_terminal(new) else ""
        if before and before != after and old is not None:
            if self._uses[before].pop(key_of(old), None) is not None:
                self._mark(before)
            if not self._uses[before]:
                del self._uses[before]
        if after and new is not None:
            known = (owner_uid(new), replica_of(new), pod_use(new))
            if self._uses[after].get(key_of(new)) != known:
                self._uses[after][key_of(new)] = known
                self._mark(after)

    def _on_job(self, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self._demands.pop(old["metadata"]["uid"], None)

    def _mark(self, node: str) -> None:
        self._dirty.add(node)
        for callback in self.changed:
            callback(node)


def _node_name(pod: Object | None) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "") if pod is not None else ""
