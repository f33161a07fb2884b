"""Deletes what belonged to an owner that is gone, as the controller manager of a real cluster does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from apiserver.machinery.errors import APIError
from apiserver.simulator.follow import follow
from apiserver.simulator.objects import Objects

Object = dict[str, Any]

DEPENDENTS = ("pods", "persistentvolumeclaims")
_COLLECTORS = frozenset({"foregroundDeletion", "orphan"})


class GarbageCollector:
    """Watches owners, and deletes their dependents after them. Owners that wait for it in the foreground,
    or that
    orphan, get their finalizer taken off when it has done its part."""

    def __init__(
        self, objects: Objects, owners: Sequence[str], dependents: Sequence[str] = DEPENDENTS
    ) -> None:
        self._objects = objects
        self._owners = owners
        self._dependents = dependents

    async def run(self) -> None:
        """Collect until cancelled."""
        async with asyncio.TaskGroup() as group:
            for owner in self._owners:
                group.create_task(self._follow_owner(owner))

    async def _follow_owner(self, resource: str) -> None:
        async for kind, owner in follow(self._objects, resource):
            if kind == "DELETED":
                await self._collect(owner["metadata"]["uid"])
            elif _COLLECTORS & set(owner["metadata"].get("finalizers") or ()):
                await self._finalize(resource, owner)

    async def _finalize(self, resource: str, owner: Object) -> None:
        meta = owner["metadata"]
        if "deletionTimestamp" not in meta:
            return
        if "orphan" in meta["finalizers"]:
            await self._orphan(meta["uid"])
        else:
            await self._collect(meta["uid"])
        kept = [name for name in meta["finalizers"] if name not in _COLLECTORS]
        try:
            await self._objects.update(resource, {**owner, "metadata": {**meta, "finalizers": kept}})
        except APIError as error:
            # Somebody was faster: the next event tells what is left to do.
            if error.code not in (404, 409):
                raise

    async def _collect(self, uid: str) -> None:
        for resource, dependent in await self._dependents_of(uid):
            references = [item for item in dependent["metadata"]["ownerReferences"] if item["uid"] != uid]
            try:
                if references:
                    await self._keep(resource, dependent, references)
                else:
                    await self._objects.delete(resource, {"metadata": _identity(dependent)})
            except APIError as error:
                if error.code not in (404, 409):
                    raise

    async def _orphan(self, uid: str) -> None:
        for resource, dependent in await self._dependents_of(uid):
            references = [item for item in dependent["metadata"]["ownerReferences"] if item["uid"] != uid]
            await self._keep(resource, dependent, references)

    async def _keep(self, resource: str, dependent: Object, references: list[Object]) -> None:
        metadata = {**dependent["metadata"], "ownerReferences": references}
        await self._objects.update(resource, {**dependent, "metadata": metadata})

    async def _dependents_of(self, uid: str) -> list[tuple[str, Object]]:
        found: list[tuple[str, Object]] = []
        for resource in self._dependents:
            items, _ = await self._objects.list(resource)
            found.extend(
                (resource, item)
                for item in items
                if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ())
            )
        return found


def _identity(obj: Object) -> Object:
    """What names an object and its life, without its revision: a status that moved on must not save it."""
    return {key: obj["metadata"][key] for key in ("namespace", "name", "uid") if key in obj["metadata"]}
