"""Step: give GPUs back. First the pods go, then the ledger and the status are changed in one transaction;
GPUs are never offered to others while a container may still use them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

from apiserver.controllers.clients import Change, is_not_found
from apiserver.controllers.inferencejob import ledger, names
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.world import Turn
from apiserver.controllers.placement.facts import is_ready, is_terminal
from apiserver.machinery.errors import APIError

Object = dict[str, Any]

POLL_SECONDS = 5.0
MAX_AT_ONCE = 64
"""Replicas that one transaction releases: each may be on another node, and etcd takes
128 operations by default."""


def everything(turn: Turn) -> set[int]:
    """All replicas that hold anything, or have a pod."""
    return set(turn.view.placements) | set(turn.held) | set(turn.pods)


async def give_back(turn: Turn, replicas: AbstractSet[int], *, keep_ended: bool) -> bool:
    """Have replicas give back what they hold; True when nothing is left.

    Pods that have ended hold no devices, so they delay nothing: with `keep_ended` they stay (for their
    logs), else they go after the ledger was written. The draft is written along with it.
    """
    running = {
        replica
        for replica in replicas
        if (pod := turn.pods.get(replica)) is not None and not is_terminal(pod)
    }
    for replica in sorted(running):
        await stop(turn, turn.pods[replica])
    running &= turn.pods.keys()
    for some in portions(replicas - running) or [set()]:
        await write_off(turn, some)
    if not keep_ended:
        for replica in sorted((replicas - running) & turn.pods.keys()):
            await stop(turn, turn.pods[replica])
    if running:
        turn.soon(POLL_SECONDS)
    return not running


def portions(replicas: AbstractSet[int]) -> list[set[int]]:
    """Replicas in as many sets as it takes transactions to release them."""
    numbers = sorted(replicas)
    return [set(numbers[start : start + MAX_AT_ONCE]) for start in range(0, len(numbers), MAX_AT_ONCE)]


async def write_off(turn: Turn, replicas: AbstractSet[int], *, ended: bool = False) -> None:
    """Take replicas out of the ledger and the placements, in one transaction. `ended` ones keep their
    placement, with no GPUs: that is how the status remembers that they are complete."""
    entries: dict[str, Object] = {}
    for replica in replicas:
        if replica in turn.held:
            name = turn.held[replica][0]["metadata"]["name"]
            entry = entries.get(name, turn.held[replica][0])
            entries[name] = ledger.released(entry, turn.view.uid, {replica})
    placements = turn.draft.placements
    for replica in replicas & placements.keys():
        if ended:
            placements[replica] = {**placements[replica], "gpus": 0}
        else:
            del placements[replica]
    if placements != turn.draft.placements:
        turn.draft.place(placements)
    if not entries:
        await turn.write_status()
        return
    await _transact(turn, entries)
    if not ended:
        freed = sum(turn.view.gpus for replica in replicas if replica in turn.held)
        turn.event("Normal", Reason.RELEASED, f"Released {freed} {turn.view.resource}")
    turn.held = turn.world.cluster.ledger.of_job(turn.view.uid)


async def _transact(turn: Turn, entries: dict[str, Object]) -> None:
    changes = [Change(names.GPU_NODES, entry, "update") for entry in entries.values()]
    turn.draft.settle_generation()
    if not turn.draft.changed:
        turn.world.cluster.ledger.record(await turn.world.objects.transact(changes))
        return
    job, *written = await turn.world.objects.transact(
        [Change(names.JOBS, turn.draft.result(), "update_status"), *changes]
    )
    turn.world.cluster.ledger.record(written)
    turn.written(job)


async def stop(turn: Turn, pod: Object) -> None:
    """Delete a pod, gently; by force when its node does not answer and it should
    have been gone for a while."""
    metadata = pod["metadata"]
    options: Object = {"preconditions": {"uid": metadata["uid"]}}
    deleted = metadata.get("deletionTimestamp")
    if deleted:
        if _answers(turn, pod) or turn.age(deleted) < turn.world.limits.force:
            return
        options["gracePeriodSeconds"] = 0
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    try:
        answer = await turn.world.host.delete(path, options)
    except APIError as error:
        if not is_not_found(error) and error.code != 409:
            raise
        # It is gone, or another pod has the name already.
        turn.forget(pod)
        return
    if answer.get("kind") != "Pod" or _gone(answer):
        turn.forget(pod)
    else:
        turn.world.pods.record(answer)


def _gone(pod: Object) -> bool:
    """Whether the answer to a deletion shows a pod that is gone already: with no grace left, it is (a
    finalizer of somebody else's keeps it)."""
    if pod["metadata"].get("finalizers"):
        return False
    return bool(pod["metadata"].get("deletionGracePeriodSeconds") == 0)


def _answers(turn: Turn, pod: Object) -> bool:
    """Whether the kubelet of the pod's node is there to end it."""
    node = turn.world.nodes.store.get((pod.get("spec") or {}).get("nodeName") or "")
    return node is not None and is_ready(node)


def without_place(turn: Turn) -> Iterable[int]:
    """Replicas that have a pod or GPUs and should have neither."""
    wanted = turn.view.placements.keys()
    return sorted((turn.held.keys() | turn.pods.keys()) - wanted)
