"""Deletes the pods of nodes that are gone, as the controller manager of a real cluster does."""

from __future__ import annotations

import asyncio
from typing import Any

from apiserver.machinery.errors import APIError
from apiserver.simulator.follow import Sleep, follow, persist, unless
from apiserver.simulator.objects import Objects

Object = dict[str, Any]


class NodeController:
    """Watches nodes go, and pods that are bound to nodes that are not there."""

    def __init__(self, objects: Objects, sleep: Sleep = asyncio.sleep) -> None:
        self._objects = objects
        self._sleep = sleep

    async def run(self) -> None:
        """Clean up until cancelled."""
        await persist(self._follow, self._sleep)

    async def _follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_nodes())
            group.create_task(self._follow_pods())

    async def _follow_nodes(self) -> None:
        async for kind, node in follow(self._objects, "nodes"):
            if kind == "DELETED":
                pods, _ = await self._objects.list("pods")
                for pod in pods:
                    if pod["spec"].get("nodeName") == node["metadata"]["name"]:
                        await self._judge(pod)

    async def _follow_pods(self) -> None:
        async for kind, pod in follow(self._objects, "pods"):
            if kind != "DELETED" and pod["spec"].get("nodeName"):
                await self._judge(pod)

    async def _judge(self, pod: Object) -> None:
        try:
            await self._objects.get("nodes", "", pod["spec"]["nodeName"])
        except APIError as error:
            if error.code != 404:
                raise
        else:
            return
        meta = {key: pod["metadata"][key] for key in ("namespace", "name", "uid")}
        with unless(404, 409):
            await self._objects.delete("pods", {"metadata": meta})
