"""The job that shows a newcomer what happens to a job, and the telling of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from apiserver.machinery.errors import APIError
from apiserver.simulator.follow import follow
from apiserver.simulator.objects import Objects

Object = dict[str, Any]

SAMPLE = "sample"
NOT_JUDGED = "Waiting to be placed"
"""What the controller says of a job before its first attempt to place it."""


def sample_job() -> Object:
    """A gang of four replicas with two GPUs each."""
    return {
        "apiVersion": "ai.example.com/v1",
        "kind": "InferenceJob",
        "metadata": {"name": SAMPLE, "namespace": "default"},
        "spec": {
            "image": "registry.example.com/vllm:0.9",
            "model": "s3://models/llama-3-8b",
            "gpuCount": 2,
            "replicas": 4,
        },
    }


async def submit_sample(objects: Objects) -> str:
    """Submit the sample unless it is there already; says what was done."""
    try:
        await objects.create("inferencejobs", sample_job())
    except APIError as error:
        if error.code == 409:
            return f"The job default/{SAMPLE} is there from before; delete it to see it run again."
        if error.code in (403, 404):
            return f"The job default/{SAMPLE} was not submitted: {error.message}"
        raise
    return f"Submitted the job default/{SAMPLE}: 4 replicas with 2 GPUs each, all or none."


async def narrate(
    objects: Objects, say: Callable[[str], None], jobs: Sequence[Object] = (), since: str = "0"
) -> None:
    """Tell where these jobs stand, then of every change of a job's phase after `since`, for ever."""
    told: dict[str, str] = {}
    for job in jobs:
        _tell("ADDED", job, told, say)
    async for kind, job in follow(objects, "inferencejobs", since):
        _tell(kind, job, told, say)


def _tell(kind: str, job: Object, told: dict[str, str], say: Callable[[str], None]) -> None:
    meta = job["metadata"]
    name = f"{meta['namespace']}/{meta['name']}"
    if kind == "DELETED":
        told.pop(meta["uid"], None)
        say(f"  {name}: deleted")
        return
    status = job.get("status") or {}
    phase = status.get("phase") or "Pending"
    message = status.get("message") or ""
    # A job that finds no room says why, once; what else is said about a phase comes with it.
    state = f"{phase}, no room" if phase == "Pending" and _has_no_room(status) else phase
    if told.get(meta["uid"]) == state:
        return
    told[meta["uid"]] = state
    nodes = sorted({item["node"] for item in status.get("placements") or ()})
    where = f" on {', '.join(nodes)}" if nodes else ""
    why = f" ({message})" if message and (phase != "Pending" or state != phase) else ""
    say(f"  {name}: {phase}{where}{why}")


def _has_no_room(status: Object) -> bool:
    """Whether placement has been tried in vain; before it has, the status says that it waits for that."""
    waits = any(item.get("reason") == "WaitingForGPUs" for item in status.get("conditions") or ())
    return waits and status.get("message") not in ("", None, NOT_JUDGED)
