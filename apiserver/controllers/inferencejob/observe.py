"""Step: read the pods and say in the status where the job stands."""

from __future__ import annotations

from typing import Any

from apiserver.controllers.clients import is_not_found
from apiserver.controllers.conditions import find
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.finish import succeed
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.podstate import is_pod_ready, phase_of, trouble
from apiserver.controllers.inferencejob.release import portions, write_off
from apiserver.controllers.inferencejob.world import Turn
from apiserver.machinery.errors import APIError

Object = dict[str, Any]


async def observe(turn: Turn) -> None:
    """Write what the pods show."""
    ended = {replica for replica in _newly_ended(turn) if await _is_present(turn, replica)}
    done = {replica for replica in ended | turn.view.completed if replica < turn.view.replicas}
    if len(done) == turn.view.replicas:
        await succeed(turn)
        return
    ready = sum(is_pod_ready(pod) for replica, pod in turn.pods.items() if replica in turn.view.placements)
    turn.draft.set(readyReplicas=ready)
    problem = turn.found or _trouble(turn)
    _conditions(turn, ready, len(done), problem)
    for some in portions(ended):
        await write_off(turn, some, ended=True)
    await turn.write_status()


def _newly_ended(turn: Turn) -> set[int]:
    """Replicas of a batch job that have succeeded and are still booked."""
    if turn.view.restart_policy == "Always":
        return set()
    return {
        replica
        for replica, pod in turn.pods.items()
        if phase_of(pod) == "Succeeded" and turn.view.placements.get(replica, {}).get("gpus")
    }


async def _is_present(turn: Turn, replica: int) -> bool:
    """Ask the host itself before an end counts, for it counts for ever: the pod may be of an earlier
    placement, and another leader may have made a new one."""
    path = f"/api/v1/namespaces/{turn.view.namespace}/pods/{turn.view.pod_name(replica)}"
    known = turn.pods[replica]
    try:
        pod = await turn.world.host.get(path)
    except APIError as error:
        if not is_not_found(error):
            raise
    else:
        if pod["metadata"]["uid"] == known["metadata"]["uid"]:
            return True
    turn.forget(known)
    turn.soon(0)
    return False


def _trouble(turn: Turn) -> tuple[str, str] | None:
    for replica in sorted(turn.pods):
        if replica in turn.view.placements and (found := trouble(turn.pods[replica])):
            return found
    return None


def _conditions(turn: Turn, ready: int, done: int, problem: tuple[str, str] | None) -> None:
    view, draft = turn.view, turn.draft
    if ready + done == view.replicas:
        draft.condition(names.READY, "True", Reason.ALL_READY, f"All {view.replicas} replicas are ready")
    else:
        message = f"{ready + done} of {view.replicas} replicas are ready"
        draft.condition(names.READY, "False", Reason.STARTING, message)
    healing = bool(view.missing)
    if problem is not None:
        draft.condition(names.DEGRADED, "True", problem[0], problem[1])
    elif not healing and find(draft.get("conditions"), names.DEGRADED) is not None:
        draft.condition(names.DEGRADED, "False", Reason.HEALTHY, "")
    if problem is not None or healing:
        draft.set(phase="Degraded")
        if problem is not None:
            draft.set(message=problem[1])
        return
    draft.set(phase="Ready" if ready + done == view.replicas else "Reconciling", message=None)
