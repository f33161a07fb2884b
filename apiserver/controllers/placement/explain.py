"""Why a job does not fit, node by node, in one sentence like those of kube-scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

from apiserver.controllers.placement.fleet import Fleet, Node, hard_taints, untolerated
from apiserver.controllers.placement.model import Demand
from apiserver.controllers.placement.nominate import NONE

MAX_REASONS = 8


def why_not(node: Node, demand: Demand) -> str:
    """Why not one replica of the demand can go to the node; "" if it can."""
    facts = node.facts
    if facts.obstacle:
        return facts.obstacle
    taint = untolerated(hard_taints(facts), demand.tolerations)
    if taint is not None:
        return f"untolerated taint {{{taint.key}: {taint.value}}}"
    if not node.selected(demand):
        return "node selector mismatch"
    have = facts.accelerators.get(demand.resource)
    if have is None:
        return f"no {demand.resource}"
    if demand.products and have.product not in demand.products:
        return "product mismatch"
    return _short_of(node, demand)


def _short_of(node: Node, demand: Demand) -> str:
    if node.free[demand.resource] < demand.gpus:
        return f"not enough free {demand.resource} (need {demand.gpus})"
    if node.cpu < demand.cpu:
        return "insufficient cpu"
    if node.memory < demand.memory:
        return "insufficient memory"
    return "too many pods" if node.pods < 1 else ""


def explain(
    fleet: Fleet,
    demand: Demand,
    replicas: int,
    *,
    backed_off: AbstractSet[str] = NONE,
    held: AbstractSet[str] = NONE,
) -> str:
    """Such as "0/8 nodes can host a replica: 5 not enough free nvidia.com/gpu
    (need 4), 3 product mismatch"."""
    reasons: Counter[str] = Counter()
    hosts = room = 0
    for name, node in fleet.nodes.items():
        reason = why_not(node, demand)
        if not reason and name in backed_off:
            reason = "backed off after a failure"
        if not reason and name in held:
            reason = "held for a job that goes first"
        if reason:
            reasons[reason] += 1
            continue
        hosts += 1
        room += node.room(demand)
    total = len(fleet.nodes)
    if not total:
        return "there are no nodes"
    sentence = f"{hosts}/{total} nodes can host a replica"
    if hosts:
        sentence += f", room for {room} of {replicas} replicas"
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{count} {reason}" for reason, count in ordered[:MAX_REASONS])
    if len(ordered) > MAX_REASONS:
        listed += f", {sum(count for _, count in ordered[MAX_REASONS:])} for other reasons"
    return f"{sentence}: {listed}" if listed else sentence
