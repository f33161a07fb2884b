"""The host cluster: paths to objects, the binding of pods, and graceful deletion."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from apiserver.controllers.clock import timestamp
from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource
from fakecluster.store import Key, MemoryStore

Object = dict[str, Any]


class MemoryHost:
    """Implements the `Host` protocol. `before` is called with (method, path) and may raise."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.before: Callable[[str, str], None] = lambda *_: None
        self.calls: list[tuple[str, str]] = []

    async def get(self, path: str, *, query: Mapping[str, str] | None = None, timeout: float = 0) -> Object:
        self._enter("GET", path)
        return self.store.get(_key(path))

    async def list(self, path: str, *, query: Mapping[str, str] | None = None) -> Object:
        self._enter("GET", path)
        resource, namespace, _ = _key(path + "/-")
        return {
            "metadata": {"resourceVersion": str(self.store.revision)},
            "items": self.store.list(resource, namespace),
        }

    async def create(self, path: str, body: Object) -> Object:
        self._enter("POST", path)
        if path.endswith("/binding"):
            return self._bind(path.removesuffix("/binding"), body)
        resource, namespace, _ = _key(path + "/-")
        return self.store.create((resource, namespace, body["metadata"]["name"]), body)

    async def update(self, path: str, body: Object) -> Object:
        self._enter("PUT", path)
        self.store.check(_key(path), body)
        return self.store.put(_key(path), body)

    async def patch(
        self, path: str, body: Any, *, content_type: str = "", query: Mapping[str, str] | None = None
    ) -> Object:
        self._enter("PATCH", path)
        return self.store.put(_key(path), {**self.store.get(_key(path)), **body})

    async def delete(self, path: str, body: Object | None = None) -> Object:
        self._enter("DELETE", path)
        key = _key(path)
        live = self.store.get(key)
        options = body or {}
        uid = (options.get("preconditions") or {}).get("uid")
        if uid and uid != live["metadata"]["uid"]:
            raise errors.conflict(
                GroupResource("", key[0]), key[2], "the UID in the precondition does not match"
            )
        running = key[0] == "pods" and live["spec"].get("nodeName")
        ended = (live.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if running and not ended and options.get("gracePeriodSeconds") != 0:
            live["metadata"].setdefault("deletionTimestamp", timestamp(self.store.clock.now()))
            live["metadata"]["deletionGracePeriodSeconds"] = 30
            return self.store.put(key, live)
        removed = copy.deepcopy(self.store.remove(key))
        removed["metadata"]["deletionGracePeriodSeconds"] = 0
        return removed

    async def watch(
        self, path: str, *, query: Mapping[str, str] | None = None, timeout: float = 0
    ) -> AsyncIterator[Object]:
        self._enter("WATCH", path)
        if (query or {}).get("sendInitialEvents"):
            raise errors.APIError(422, "Invalid", "sendInitialEvents is forbidden")
        after = int((query or {})["resourceVersion"])
        async with contextlib.aclosing(self.store.watch(_key(path + "/-")[0], after)) as events:
            async for event in events:
                yield event

    def _enter(self, method: str, path: str) -> None:
        self.calls.append((method, path))
        self.before(method, path)

    def _bind(self, path: str, body: Object) -> Object:
        key = _key(path)
        pod = self.store.get(key)
        if pod["spec"].get("nodeName"):
            raise errors.conflict(GroupResource("", "pods"), key[2], "pod is already assigned to a node")
        pod["spec"]["nodeName"] = body["target"]["name"]
        self.store.put(key, pod)
        return {"kind": "Status", "status": "Success"}


def _key(path: str) -> Key:
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if parts[0] == "namespaces" and len(parts) > 2:
        return (parts[2], parts[1], parts[3])
    return (parts[0], "", parts[1])
