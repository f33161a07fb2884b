"""The job that shows a newcomer what happens to a job, and the telling of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.simulator.follow import follow
from apiserver.simulator.objects import Objects

Object = dict[str, Any]

NAMESPACES = ("default", "kube-system", "ai-system")


def sample_job() -> Object:
    """A gang of four replicas with two GPUs each."""
    return {
        "apiVersion": "ai.example.com/v1",
        "kind": "InferenceJob",
        "metadata": {"name": "sample", "namespace": "default"},
        "spec": {
            "image": "registry.example.com/vllm:0.9",
            "model": "s3://models/llama-3-8b",
            "gpuCount": 2,
            "replicas": 4,
        },
    }


async def narrate(objects: Objects, say: Callable[[str], None]) -> None:
    """Tell of every change of a job's phase, for ever."""
    phases: dict[str, str] = {}
    async for kind, job in follow(objects, "inferencejobs"):
        meta, status = job["metadata"], job.get("status") or {}
        name = f"{meta['namespace']}/{meta['name']}"
        if kind == "DELETED":
            phases.pop(meta["uid"], None)
            say(f"{name}: deleted")
            continue
        phase = status.get("phase", "Pending")
        if phases.get(meta["uid"]) == phase:
            continue
        phases[meta["uid"]] = phase
        nodes = sorted({item["node"] for item in status.get("placements") or ()})
        where = f" on {', '.join(nodes)}" if nodes else ""
        message = f" ({status['message']})" if status.get("message") else ""
        say(f"{name}: {phase}{where}{message}")
