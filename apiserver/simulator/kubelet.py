"""A kubelet that runs nothing: bound pods become Running, and those that are to end become Succeeded after
a while.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from apiserver.machinery.errors import APIError
from apiserver.simulator.follow import Sleep, follow, persist
from apiserver.simulator.objects import Objects

Object = dict[str, Any]

START_SECONDS = 1.0
RUN_SECONDS = 6.0
RUN_SECONDS_ANNOTATION = "simulator.ai.example.com/run-seconds"
EXIT_CODE_ANNOTATION = "simulator.ai.example.com/exit-code"
LONGEST_RUN = 1e8
"""Seconds; three years are for ever."""
TRIES = 5


class Kubelet:
    """Plays the kubelet of every simulated node. `now` gives RFC 3339, `sleep` takes seconds."""

    def __init__(
        self, objects: Objects, now: Callable[[], str] | None = None, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._objects = objects
        self._now = now or _utc_now
        self._sleep = sleep

    async def run(self) -> None:
        """Take every pod that is bound, and drop those that are deleted, until cancelled."""
        await persist(self._follow, self._sleep)

    async def _follow(self) -> None:
        running: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            async for kind, pod in follow(self._objects, "pods"):
                uid = pod["metadata"]["uid"]
                if kind == "DELETED":
                    task = running.pop(uid, None)
                    if task is not None:
                        task.cancel()
                elif uid not in running and self._is_mine(pod):
                    running[uid] = group.create_task(self._run_pod(pod))

    def _is_mine(self, pod: Object) -> bool:
        phase = (pod.get("status") or {}).get("phase", "Pending")
        return bool(pod["spec"].get("nodeName")) and phase in ("Pending", "Running")

    async def _run_pod(self, pod: Object) -> None:
        await self._sleep(START_SECONDS)
        if not await self._report(pod, self._running_status):
            return
        seconds = _run_seconds(pod)
        if seconds is None:
            return
        await self._sleep(seconds)
        await self._report(pod, self._ended_status)

    async def _report(self, pod: Object, status_of: Callable[[Object], Object]) -> bool:
        """Write the status; False when the pod is gone."""
        meta = pod["metadata"]
        for _ in range(TRIES):
            try:
                live = await self._objects.get("pods", meta["namespace"], meta["name"])
                if live["metadata"]["uid"] != meta["uid"]:
                    return False
                changed = copy.deepcopy(live)
                changed["status"] = status_of(live)
                await self._objects.update_status("pods", changed)
            except APIError as error:
                if error.code == 404:
                    return False
                if error.code != 409:
                    raise
            else:
                return True
        return False

    def _running_status(self, pod: Object) -> Object:
        now = self._now()
        containers = pod["spec"]["containers"]
        return {
            "phase": "Running",
            "startTime": (pod.get("status") or {}).get("startTime") or now,
            "hostIP": "127.0.0.1",
            "podIP": "127.0.0.1",
            "conditions": [
                _condition(kind, "True", now)
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                {
                    "name": container["name"],
                    "image": container.get("image", ""),
                    "imageID": "",
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": now}},
                }
                for container in containers
            ],
        }

    def _ended_status(self, pod: Object) -> Object:
        now = self._now()
        code = _exit_code(pod)
        status: Object = copy.deepcopy(pod["status"])
        status["phase"] = "Failed" if code else "Succeeded"
        status["conditions"] = [
            _condition(kind, "False" if kind in ("ContainersReady", "Ready") else "True", now)
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        for container in status.get("containerStatuses", ()):
            reason = "Error" if code else "Completed"
            container["ready"] = False
            container["state"] = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": now}}
        return status


def _run_seconds(pod: Object) -> float | None:
    """How long the pod runs; None for ever."""
    given = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS_ANNOTATION)
    if given is not None:
        seconds = _number(given)
        return RUN_SECONDS if seconds is None else seconds
    return None if pod["spec"].get("restartPolicy", "Always") == "Always" else RUN_SECONDS


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < LONGEST_RUN else None


def _exit_code(pod: Object) -> int:
    """What the containers end with; what is no number is taken for a failure."""
    given = (pod["metadata"].get("annotations") or {}).get(EXIT_CODE_ANNOTATION, "0")
    return int(given) if given.isascii() and given.isdigit() and len(given) <= 3 else 1


def _condition(kind: str, status: str, now: str) -> Object:
    return {"type": kind, "status": status, "lastTransitionTime": now}


def _utc_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
