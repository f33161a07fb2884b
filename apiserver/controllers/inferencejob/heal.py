"""Step: replicas that were lost to the world and not by their own fault. Their GPUs are given back, the
others of the gang keep theirs while the missing ones are placed again; if that takes too long, the gang is
released whole. No attempt of the user's is spent on it."""

from __future__ import annotations

from typing import Any

from apiserver.controllers.clients import is_not_found
from apiserver.controllers.conditions import find, is_true
from apiserver.controllers.inferencejob import ledger, names
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.pods import demand_of
from apiserver.controllers.inferencejob.podstate import (
    failure_message,
    is_disruption,
    is_elsewhere,
    is_rejected,
)
from apiserver.controllers.inferencejob.release import give_back
from apiserver.controllers.inferencejob.world import Turn
from apiserver.controllers.placement.facts import is_ready, node_facts, obstacle_of, ready_condition
from apiserver.controllers.placement.fleet import hard_taints, untolerated
from apiserver.machinery.errors import APIError

Object = dict[str, Any]


async def heal(turn: Turn) -> bool:
    """Release lost replicas. True if there were any:
    the turn ends, the next one goes on from what was written."""
    lost = {
        replica: why
        for replica, placement in turn.view.placements.items()
        if placement.get("gpus") and (why := await _lost(turn, replica, placement))
    }
    if not lost:
        return _give_up(turn)
    message = "; ".join(f"replica {replica}: {why}" for replica, why in sorted(lost.items()))
    if find(turn.view.conditions, names.DEGRADED) is None or not _already(turn, message):
        turn.event("Warning", Reason.REPLICA_LOST, message[:1000])
    turn.draft.condition(names.DEGRADED, "True", Reason.REPLICA_LOST, message)
    turn.draft.condition(names.SCHEDULED, "False", Reason.HEALING, message)
    turn.draft.condition(names.READY, "False", Reason.HEALING, message)
    turn.draft.set(phase="Degraded", message=message)
    await give_back(turn, lost.keys(), keep_ended=False)
    await turn.write_status()
    return True


def _already(turn: Turn, message: str) -> bool:
    return (find(turn.view.conditions, names.DEGRADED) or {}).get("message") == message


async def _lost(turn: Turn, replica: int, placement: Object) -> str:
    """Why a replica is lost; "" if it is not."""
    if replica not in turn.held and not await _in_store(turn, replica, placement):
        return "the ledger has no entry for it"
    node = turn.world.nodes.store.get(placement["node"])
    if node is None:
        return f"node {placement['node']} is gone"
    if why := _unready(turn, node):
        return why
    pod = turn.pods.get(replica)
    if pod is not None and is_disruption(pod) and not is_elsewhere(pod, placement["node"]):
        if is_rejected(pod):
            turn.world.backoff.failed(placement["node"])
        return f"pod on {placement['node']}: {failure_message(pod)}"
    if (turn.view.uid, replica) in turn.world.unhealthy.get(placement["node"], ()):
        turn.world.backoff.failed(placement["node"])
        return f"a {turn.view.resource} of node {placement['node']} is unhealthy"
    if pod is None and (why := _closed(turn, await _latest(turn, node))):
        return f"its pod has left node {placement['node']}, which {why}"
    return ""


def _closed(turn: Turn, node: Object) -> str:
    """Why a node may not get the pod again that it has lost; "" if it may. Who drains a node would otherwise
    never see it empty."""
    if obstacle := obstacle_of(node):
        return f"is {obstacle}"
    taint = untolerated(hard_taints(node_facts(node, {})), demand_of(turn.view).tolerations)
    return f"has the taint {taint.key}" if taint is not None else ""


async def _latest(turn: Turn, node: Object) -> Object:
    """The node as it is now, if a pod of a job that was ready has gone: whoever drains a node closes it a
    moment before, and news of pods and of nodes come on two ways."""
    if not is_true(turn.view.conditions, names.READY):
        return node
    query = {"fieldSelector": f"metadata.name={node['metadata']['name']}"}
    listing = await turn.world.host.list("/api/v1/nodes", query=query)
    named = [item for item in listing["items"] if item["metadata"]["name"] == node["metadata"]["name"]]
    return named[0] if named else node


def _unready(turn: Turn, node: Object) -> str:
    if is_ready(node):
        return ""
    since = (ready_condition(node) or {}).get("lastTransitionTime")
    left = turn.world.limits.node_lost - turn.age(since)
    if left > 0:
        turn.soon(left)
        return ""
    return f"node {node['metadata']['name']} is not ready"


async def _in_store(turn: Turn, replica: int, placement: Object) -> bool:
    """Ask the store itself before believing that the ledger has forgotten a replica: the picture may lag."""
    entries = turn.world.cluster.ledger.on_node(placement["node"])
    candidates = {entry["metadata"]["name"] for entry in entries} or {placement["node"]}
    for name in candidates:
        try:
            entry = await turn.world.objects.get(names.GPU_NODES, "", name)
        except APIError as error:
            if not is_not_found(error):
                raise
            continue
        turn.world.cluster.ledger.record([entry])
        for item in ledger.allocations_of(entry):
            if item["uid"] == turn.view.uid and int(item["replica"]) == replica:
                turn.held[replica] = (entry, item)
                return True
    return False


def _give_up(turn: Turn) -> bool:
    """Release the gang when it has been incomplete for too long. True if it is to be released."""
    scheduled = find(turn.view.conditions, names.SCHEDULED)
    if scheduled is None or scheduled.get("reason") != Reason.HEALING or not turn.view.missing:
        return False
    left = turn.world.limits.heal - turn.age(scheduled.get("lastTransitionTime"))
    if left > 0:
        turn.soon(left)
        return False
    message = f"{len(turn.view.missing)} lost replicas could not be placed again in time"
    turn.draft.not_placed(Reason.GANG_RELEASED, message)
    turn.event("Warning", Reason.GANG_RELEASED, message)
    return False
