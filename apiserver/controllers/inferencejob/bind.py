"""Step: bind pods to the nodes of their placements, through `pods/binding` as every scheduler does."""

from __future__ import annotations

import asyncio
from typing import Any

from apiserver.controllers.clients import is_conflict, is_not_found
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.create import PARALLEL, settle
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.inferencejob.world import Turn
from apiserver.machinery.errors import APIError

Object = dict[str, Any]


async def bind_pods(turn: Turn) -> None:
    """Bind what is not bound."""
    unbound = [
        replica
        for replica, placement in sorted(turn.view.placements.items())
        if placement.get("gpus") and _can_bind(turn.pods.get(replica))
    ]
    if not unbound or not await _still_placed(turn):
        return
    slots = asyncio.Semaphore(PARALLEL)
    await settle([_bind(turn, replica, slots) for replica in unbound])


def _can_bind(pod: Object | None) -> bool:
    return (
        pod is not None and not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
    )


async def _still_placed(turn: Turn) -> bool:
    """Read the job from the store once more. A leader that was asleep since it decided would bind pods whose
    GPUs the next leader has given to others."""
    try:
        job = await turn.world.objects.get(names.JOBS, turn.view.namespace, turn.view.name)
    except APIError as error:
        if not is_not_found(error):
            raise
        return False
    fresh = JobView(job)
    same = fresh.uid == turn.view.uid and not fresh.deleting and not fresh.releasing
    if same and fresh.placements == turn.view.placements:
        return True
    turn.world.jobs.record(job)
    turn.soon(1.0)
    return False


async def _bind(turn: Turn, replica: int, slots: asyncio.Semaphore) -> None:
    pod = turn.pods[replica]
    metadata = pod["metadata"]
    node = turn.view.placements[replica]["node"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
    async with slots:
        try:
            await turn.world.host.create(path, binding)
        except APIError as error:
            # Bound already, changed or gone: the watch tells which, and the next turn acts on it.
            if not is_conflict(error) and not is_not_found(error):
                raise
            turn.soon(1.0)
