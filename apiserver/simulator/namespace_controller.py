"""Empties namespaces that are being deleted, and lets them go, as the controller manager does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from apiserver.machinery.errors import APIError
from apiserver.simulator.core import NAMESPACE_FINALIZER
from apiserver.simulator.follow import Sleep, follow, persist, unless
from apiserver.simulator.objects import Objects

Object = dict[str, Any]

RETRY_SECONDS = 0.5


class NamespaceController:
    """Deletes the contents of terminating namespaces.
    `contents` are the namespaced resources, by plural name."""

    def __init__(self, objects: Objects, contents: Sequence[str], sleep: Sleep = asyncio.sleep) -> None:
        self._objects = objects
        self._contents = contents
        self._sleep = sleep

    async def run(self) -> None:
        """Empty namespaces until cancelled."""
        await persist(self._follow, self._sleep)

    async def _follow(self) -> None:
        busy: set[str] = set()
        async with asyncio.TaskGroup() as group:
            async for kind, namespace in follow(self._objects, "namespaces"):
                name = namespace["metadata"]["name"]
                if kind == "DELETED" or "deletionTimestamp" not in namespace["metadata"] or name in busy:
                    continue
                busy.add(name)
                task = group.create_task(self._empty(name))
                task.add_done_callback(lambda _, name=name: busy.discard(name))  # type: ignore[misc]

    async def _empty(self, name: str) -> None:
        await self._mark(name)
        for step in (self._is_empty, self._is_released):
            while not await step(name):
                await self._sleep(RETRY_SECONDS)

    async def _mark(self, name: str) -> None:
        with unless(404, 409):
            namespace = await self._objects.get("namespaces", "", name)
            status = {**(namespace.get("status") or {}), "phase": "Terminating"}
            await self._objects.update_status("namespaces", {**namespace, "status": status})

    async def _is_empty(self, name: str) -> bool:
        """Delete what is there; says whether nothing was."""
        left = 0
        for resource in self._contents:
            items, _ = await self._objects.list(resource, namespace=name)
            left += len(items)
            for item in items:
                if "deletionTimestamp" in item["metadata"]:
                    continue
                meta = {key: item["metadata"][key] for key in ("namespace", "name", "uid")}
                with unless(404, 409):
                    await self._objects.delete(resource, {"metadata": meta})
        return left == 0

    async def _is_released(self, name: str) -> bool:
        try:
            namespace = await self._objects.get("namespaces", "", name)
            meta = namespace["metadata"]
            kept = [item for item in meta.get("finalizers") or () if item != NAMESPACE_FINALIZER]
            await self._objects.update("namespaces", {**namespace, "metadata": {**meta, "finalizers": kept}})
        except APIError as error:
            if error.code not in (404, 409):
                raise
            return error.code == 404
        return True
