"""Step: how jobs end. Failures are counted once each, the deadline is kept, finished jobs give back what
they hold and are deleted when their time is over."""

from __future__ import annotations

from typing import Any

from apiserver.controllers.clients import is_not_found
from apiserver.controllers.clock import timestamp
from apiserver.controllers.conditions import find
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.finalize import let_go
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.podstate import (
    failed_at,
    failure_message,
    is_disruption,
    is_elsewhere,
)
from apiserver.controllers.inferencejob.release import everything, give_back, stop
from apiserver.controllers.inferencejob.world import Turn
from apiserver.machinery.errors import APIError

Object = dict[str, Any]

FIRST_RETRY_SECONDS = 10.0
MAX_RETRY_SECONDS = 360.0
"""Between a failure and the next attempt, doubled each time: the times of batch/v1 Jobs."""


async def clean_up(turn: Turn) -> bool:
    """A finished job gives back what it holds, then waits for its end. True if the job is finished."""
    if not turn.view.finished:
        return False
    if turn.view.placements or turn.held or _running(turn):
        turn.draft.condition(names.SCHEDULED, "False", Reason.FINISHED, "The job has ended")
        if not await give_back(turn, everything(turn), keep_ended=True):
            await turn.write_status()
            return True
    # A spec that was changed since the end changes nothing, but has been seen.
    await turn.write_status()
    await let_go(turn)
    await _expire(turn)
    return True


def _running(turn: Turn) -> bool:
    phases = {(pod.get("status") or {}).get("phase") for pod in turn.pods.values()}
    return bool(phases - {"Succeeded", "Failed"})


async def _expire(turn: Turn) -> None:
    ttl = turn.view.spec.get("ttlSecondsAfterFinished")
    if ttl is None:
        return
    left = float(ttl) - turn.age(_finished_at(turn))
    if left > 0:
        turn.soon(left)
        return
    try:
        await turn.world.objects.delete(names.JOBS, turn.view.obj)
    except APIError as error:
        if not is_not_found(error):
            raise


def _finished_at(turn: Turn) -> str | None:
    for kind in (names.COMPLETE, names.FAILED):
        condition = find(turn.view.conditions, kind)
        if condition is not None and condition.get("status") == "True":
            return str(condition["lastTransitionTime"])
    return None


async def keep_deadline(turn: Turn) -> bool:
    """Fail a job that runs for too long. True if it did."""
    limit = turn.view.spec.get("activeDeadlineSeconds")
    start = turn.view.status.get("startTime")
    if limit is None or not start or turn.view.suspended:
        return False
    left = float(limit) - turn.age(start)
    if left > 0:
        turn.soon(left)
        return False
    await fail(turn, Reason.DEADLINE, f"The job was active longer than {limit} seconds")
    return True


async def fail(turn: Turn, reason: str, message: str) -> None:
    """The job has failed for good; what it holds is given back in the next turn."""
    turn.draft.condition(names.FAILED, "True", reason, message)
    turn.draft.condition(names.READY, "False", reason, message)
    turn.draft.set(phase="Failed", message=message, queuePosition=None, readyReplicas=0)
    await turn.write_status()
    turn.event("Warning", reason, message)
    turn.soon(0)


async def succeed(turn: Turn) -> None:
    """Every replica has succeeded."""
    message = f"All {turn.view.replicas} replicas have succeeded"
    turn.draft.condition(names.COMPLETE, "True", Reason.SUCCEEDED, message)
    turn.draft.condition(names.READY, "False", Reason.SUCCEEDED, message)
    turn.draft.set(
        phase="Succeeded",
        message=message,
        completionTime=timestamp(turn.now),
        readyReplicas=0,
        queuePosition=None,
    )
    await turn.write_status()
    turn.event("Normal", Reason.SUCCEEDED, message)
    turn.soon(0)


async def count_failures(turn: Turn) -> bool:
    """Count replicas that failed by themselves, each once, and clear them away when it is time to try again.
    True if the job has failed for good."""
    placements = turn.draft.placements
    fresh: list[str] = []
    for replica, pod in turn.pods.items():
        placement = placements.get(replica)
        if placement is None or not placement.get("gpus") or is_elsewhere(pod, placement["node"]):
            continue
        if not _failed_by_itself(turn, pod):
            continue
        if placement.get("lastFailedPod") != pod["metadata"]["uid"]:
            placements[replica] = {**placement, "lastFailedPod": pod["metadata"]["uid"]}
            fresh.append(f"{pod['metadata']['name']}: {failure_message(pod)}")
    if fresh:
        turn.draft.place(placements)
        turn.draft.set(attempts=int(turn.draft.get("attempts") or 1) + len(fresh))
        turn.event("Warning", Reason.REPLICA_FAILED, "; ".join(fresh)[:1000])
    if _exhausted(turn):
        await fail(turn, Reason.BACKOFF_LIMIT, _exhausted_message(turn, fresh))
        return True
    if fresh:
        await turn.write_status()
    await _clear_failed(turn)
    return False


async def _clear_failed(turn: Turn) -> None:
    """Delete failed pods whose failure is in the status, after the pause before the next attempt."""
    failures = max(turn.view.failures, 1)
    pause = min(FIRST_RETRY_SECONDS * 2.0 ** (failures - 1), MAX_RETRY_SECONDS)
    for replica, pod in sorted(turn.pods.items()):
        placement = turn.view.placements.get(replica)
        if placement is None or placement.get("lastFailedPod") != pod["metadata"]["uid"]:
            continue
        left = pause - turn.age(failed_at(pod))
        if left > 0:
            turn.soon(left)
        elif not pod["metadata"].get("deletionTimestamp"):
            await stop(turn, pod)


def _failed_by_itself(turn: Turn, pod: Object) -> bool:
    """Whether the pod's end counts as an attempt. A server (restartPolicy Always) has no good end at all."""
    phase = (pod.get("status") or {}).get("phase")
    if phase == "Succeeded":
        return turn.view.restart_policy == "Always"
    return phase == "Failed" and not is_disruption(pod) and not pod["metadata"].get("deletionTimestamp")


def _exhausted(turn: Turn) -> bool:
    """Whether a batch job has used up its attempts;
    restarts in place count like new pods, as for batch/v1 Jobs."""
    if turn.view.restart_policy == "Always":
        return False
    failures = max(int(turn.draft.get("attempts") or 1) - 1, 0)
    restarts = 0
    if turn.view.restart_policy == "OnFailure":
        restarts = sum(
            int(status.get("restartCount") or 0)
            for pod in turn.pods.values()
            for status in (pod.get("status") or {}).get("containerStatuses") or ()
        )
    return failures + restarts > turn.view.backoff_limit


def _exhausted_message(turn: Turn, fresh: list[str]) -> str:
    message = f"The job has failed more often than its backoffLimit of {turn.view.backoff_limit} allows"
    return f"{message}; last: {fresh[-1]}" if fresh else message
