"""Step: make the pods that are missing and replace those that are not what they should be."""

from __future__ import annotations

import asyncio
from typing import Any

from apiserver.controllers.clients import is_already_exists
from apiserver.controllers.conditions import is_true
from apiserver.controllers.inferencejob import names, scratch
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.pods import build, drifted, owner_uid
from apiserver.controllers.inferencejob.podstate import is_elsewhere
from apiserver.controllers.inferencejob.release import stop
from apiserver.controllers.inferencejob.world import Turn
from apiserver.controllers.placement.facts import is_terminal
from apiserver.controllers.reconciler import TerminalError
from apiserver.machinery.errors import APIError

Object = dict[str, Any]

PARALLEL = 16
NAME_TAKEN_SECONDS = 30.0


async def create_pods(turn: Turn) -> None:
    """Make and replace pods. Raises TerminalError for a pod that the host will never take."""
    missing: list[int] = []
    for replica, placement in sorted(turn.view.placements.items()):
        if not placement.get("gpus"):
            continue
        pod = turn.pods.get(replica)
        if pod is None:
            missing.append(replica)
        else:
            await _replace_if_needed(turn, placement, pod)
    if not missing:
        return
    if is_true(turn.view.conditions, names.READY):
        listed = ", ".join(turn.view.pod_name(replica) for replica in missing[:10])
        turn.event("Warning", Reason.POD_DELETED, f"Making deleted pods again: {listed}")
    slots = asyncio.Semaphore(PARALLEL)
    await settle([_create(turn, replica, slots) for replica in missing])


async def _replace_if_needed(turn: Turn, placement: Object, pod: Object) -> None:
    if pod["metadata"].get("deletionTimestamp"):
        await stop(turn, pod)
        return
    elsewhere = is_elsewhere(pod, placement["node"])
    if is_terminal(pod):
        # An end is for `finish` and `heal` to judge, unless it was that of an earlier placement.
        if elsewhere:
            await stop(turn, pod)
        return
    why = drifted(turn.view, pod)
    if elsewhere:
        why = f"it is bound to {pod['spec']['nodeName']} instead of {placement['node']}"
    if why:
        turn.event("Warning", Reason.POD_CHANGED, f"Replacing pod {pod['metadata']['name']}: {why}")
        await stop(turn, pod)


async def _create(turn: Turn, replica: int, slots: asyncio.Semaphore) -> None:
    async with slots:
        await scratch.make(turn, replica, turn.view.placements[replica]["node"])
        path = f"/api/v1/namespaces/{turn.view.namespace}/pods"
        try:
            pod = await turn.world.host.create(path, build(turn.view, replica))
        except APIError as error:
            if is_already_exists(error):
                await _adopt(turn, replica)
                return
            if error.code in (400, 422):
                raise TerminalError(Reason.INVALID_POD, error.message) from error
            raise
    turn.world.pods.record(pod)
    turn.pods[replica] = pod


async def _adopt(turn: Turn, replica: int) -> None:
    """The name is taken: by our own pod that the informer has not seen, by one of an earlier job of the same
    name (which goes), or by somebody else's (which stays)."""
    path = f"/api/v1/namespaces/{turn.view.namespace}/pods/{turn.view.pod_name(replica)}"
    pod = await turn.world.host.get(path)
    uid = owner_uid(pod)
    if uid == turn.view.uid:
        turn.world.pods.record(pod)
        turn.pods[replica] = pod
        return
    turn.soon(NAME_TAKEN_SECONDS)
    if uid:
        turn.soon(1.0)
        await stop(turn, pod)
        return
    turn.problem(Reason.POD_NAME_TAKEN, f"pod {pod['metadata']['name']} exists and is not of this job")


async def settle(calls: list[Any]) -> None:
    """Run calls side by side to their ends, then raise the first failure, terminal ones first: half-made
    gangs are finished by the next turn."""
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    failures.sort(key=lambda failure: not isinstance(failure, TerminalError))
    if failures:
        raise failures[0]
