"""Deletes what belonged to an owner that is gone, as the controller manager of a real cluster does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.machinery.errors import APIError
from apiserver.simulator.follow import Sleep, follow, persist, unless
from apiserver.simulator.objects import Objects

Object = dict[str, Any]

DEPENDENTS = ("pods", "persistentvolumeclaims")
_COLLECTORS = frozenset({"foregroundDeletion", "orphan"})


class GarbageCollector:
    """Watches owners, and deletes their dependents after them; looks at dependents too, for one may come when
    its owner has gone. Owners that wait for their dependents to go, or orphan them, get their finalizer taken
    off when that is done. `owners` are the plural names of the kinds that own something."""

    def __init__(
        self,
        objects: Objects,
        owners: Mapping[str, str],
        dependents: Sequence[str] = DEPENDENTS,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._objects = objects
        self._owners = owners
        self._dependents = dependents
        self._sleep = sleep

    async def run(self) -> None:
        """Collect until cancelled."""
        await persist(self._follow, self._sleep)

    async def _follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            for owner in self._owners.values():
                group.create_task(self._follow_owner(owner))
            for dependent in self._dependents:
                group.create_task(self._follow_dependent(dependent))

    async def _follow_owner(self, resource: str) -> None:
        async for kind, owner in follow(self._objects, resource):
            if kind == "DELETED":
                await self._collect(owner["metadata"]["uid"])
            elif _COLLECTORS & set(owner["metadata"].get("finalizers") or ()):
                await self._finalize(resource, owner)

    async def _follow_dependent(self, resource: str) -> None:
        async for kind, dependent in follow(self._objects, resource):
            if kind != "ADDED":
                continue
            for owner in _owners_of(dependent):
                if owner["kind"] in self._owners and not await self._lives(dependent, owner):
                    await self._take_from(resource, dependent, owner["uid"])

    async def _lives(self, dependent: Object, owner: Object) -> bool:
        resource, namespace = self._owners[owner["kind"]], dependent["metadata"].get("namespace", "")
        try:
            live = await self._objects.get(resource, namespace, owner["name"])
        except APIError as error:
            if error.code == 404:
                return False
            raise
        return bool(live["metadata"]["uid"] == owner["uid"])

    async def _finalize(self, resource: str, owner: Object) -> None:
        meta = owner["metadata"]
        if "deletionTimestamp" not in meta:
            return
        if "orphan" in meta["finalizers"]:
            await self._orphan(meta["uid"])
        else:
            await self._collect(meta["uid"])
        kept = [name for name in meta["finalizers"] if name not in _COLLECTORS]
        with unless(404, 409):
            await self._objects.update(resource, {**owner, "metadata": {**meta, "finalizers": kept}})

    async def _collect(self, uid: str) -> None:
        for resource, dependent in await self._dependents_of(uid):
            await self._take_from(resource, dependent, uid)

    async def _take_from(self, resource: str, dependent: Object, uid: str) -> None:
        """Delete the dependent, unless it has other owners as well."""
        references = [owner for owner in _owners_of(dependent) if owner["uid"] != uid]
        if references:
            await self._keep(resource, dependent, references)
            return
        # Without its revision: a status that moved on must not save it.
        meta = {key: dependent["metadata"][key] for key in ("namespace", "name", "uid")}
        with unless(404, 409):
            await self._objects.delete(resource, {"metadata": meta})

    async def _orphan(self, uid: str) -> None:
        for resource, dependent in await self._dependents_of(uid):
            references = [owner for owner in _owners_of(dependent) if owner["uid"] != uid]
            await self._keep(resource, dependent, references)

    async def _keep(self, resource: str, dependent: Object, references: list[Object]) -> None:
        metadata = {**dependent["metadata"], "ownerReferences": references}
        with unless(404, 409):
            await self._objects.update(resource, {**dependent, "metadata": metadata})

    async def _dependents_of(self, uid: str) -> list[tuple[str, Object]]:
        found: list[tuple[str, Object]] = []
        for resource in self._dependents:
            items, _ = await self._objects.list(resource)
            found.extend(
                (resource, item) for item in items if any(owner["uid"] == uid for owner in _owners_of(item))
            )
        return found


def _owners_of(obj: Object) -> list[Object]:
    return obj["metadata"].get("ownerReferences") or []
