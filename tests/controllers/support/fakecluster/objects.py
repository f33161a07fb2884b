"""Our own resources, with the rules that controllers rely on."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from apiserver.controllers.clients import Change
from apiserver.controllers.clock import timestamp
from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource
from fakecluster.store import Key, MemoryStore

Object = dict[str, Any]


def key_of(resource: str, obj: Object) -> Key:
    return (resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


class MemoryObjects:
    """Implements the `Objects` protocol. `before` is called before each write with (kind, resource, name)."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.before: Callable[[str, str, str], None] = lambda *_: None

    async def list(self, resource: str, *, namespace: str = "") -> tuple[list[Object], str]:
        return self.store.list(resource, namespace), str(self.store.revision)

    async def watch(self, resource: str, *, resource_version: str) -> AsyncIterator[Object]:
        async with contextlib.aclosing(self.store.watch(resource, int(resource_version))) as events:
            async for event in events:
                yield event

    async def get(self, resource: str, namespace: str, name: str) -> Object:
        return self.store.get((resource, namespace, name))

    async def create(self, resource: str, obj: Object) -> Object:
        self.before("create", resource, obj["metadata"]["name"])
        return self.store.create(key_of(resource, obj), obj)

    async def update(self, resource: str, obj: Object) -> Object:
        return (await self.transact([Change(resource, obj, "update")]))[0]

    async def update_status(self, resource: str, obj: Object) -> Object:
        return (await self.transact([Change(resource, obj, "update_status")]))[0]

    async def delete(self, resource: str, obj: Object) -> None:
        key = key_of(resource, obj)
        live = self.store.check(key, obj)
        if live["metadata"].get("finalizers"):
            live["metadata"]["deletionTimestamp"] = timestamp(self.store.clock.now())
            self.store.put(key, live)
        else:
            self.store.remove(key)

    async def transact(self, changes: Sequence[Change]) -> list[Object]:
        for change in changes:
            self.before(change.kind, change.resource, change.obj["metadata"]["name"])
        planned: list[tuple[Change, Key, Object | None]] = []
        for change in changes:
            key = key_of(change.resource, change.obj)
            if change.kind == "create":
                if key in self.store.objects:
                    raise errors.already_exists(GroupResource("", key[0]), key[2])
                planned.append((change, key, None))
            else:
                planned.append((change, key, self.store.check(key, change.obj)))
        self.store.revision += 1
        revision = self.store.revision
        return [self._do(change, key, live, revision) for change, key, live in planned]

    def _do(self, change: Change, key: Key, live: Object | None, revision: int) -> Object:
        if live is None:
            obj = copy.deepcopy(change.obj)
            obj["metadata"].setdefault("uid", f"uid-{key[2]}-{revision}")
            obj["metadata"]["creationTimestamp"] = timestamp(self.store.clock.now())
            return self.store.put(key, obj, "ADDED", revision=revision)
        if change.kind == "delete":
            return self.store.remove(key, revision=revision)
        fresh = copy.deepcopy(live)
        has_status = change.resource == "inferencejobs"
        if change.kind == "update_status":
            fresh["status"] = copy.deepcopy(change.obj.get("status", {}))
        else:
            fresh = copy.deepcopy(change.obj)
            if has_status:
                fresh["status"] = live.get("status", {})
            if live.get("spec") != fresh.get("spec"):
                fresh["metadata"]["generation"] = live["metadata"].get("generation", 1) + 1
        fresh["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        if fresh == live:
            return live
        if fresh["metadata"].get("deletionTimestamp") and not fresh["metadata"].get("finalizers"):
            return self.store.remove(key, revision=revision)
        return self.store.put(key, fresh, revision=revision)
