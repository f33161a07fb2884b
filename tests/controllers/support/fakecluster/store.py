"""Objects with revisions and a history that can be watched and compacted."""

from __future__ import annotations

import asyncio
import bisect
import copy
import uuid
from collections.abc import AsyncIterator
from typing import Any

from apiserver.controllers.clock import Clock, timestamp
from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource

Object = dict[str, Any]
Key = tuple[str, str, str]


class MemoryStore:
    """All objects of one API server: (resource, namespace, name) → object."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.revision = 1
        self.objects: dict[Key, Object] = {}
        self.history: list[tuple[int, str, str, Object]] = []
        self.compacted = 0
        self.writes = 0
        self._changed = asyncio.Event()
        self.cut = 0
        """Raised by one, ends all watches cleanly."""

    def list(self, resource: str, namespace: str = "") -> list[Object]:
        return [
            copy.deepcopy(obj)
            for (kind, ns, _), obj in sorted(self.objects.items())
            if kind == resource and (not namespace or ns == namespace)
        ]

    def get(self, key: Key) -> Object:
        if key not in self.objects:
            raise errors.not_found(GroupResource("", key[0]), key[2])
        return copy.deepcopy(self.objects[key])

    def create(self, key: Key, obj: Object) -> Object:
        if key in self.objects:
            raise errors.already_exists(GroupResource("", key[0]), key[2])
        obj = copy.deepcopy(obj)
        metadata = obj["metadata"]
        metadata.setdefault("uid", str(uuid.uuid4()))
        metadata["creationTimestamp"] = timestamp(self.clock.now())
        metadata["generation"] = 1
        return self.put(key, obj, "ADDED")

    def check(self, key: Key, obj: Object) -> Object:
        """What is stored, if `obj` was read from it."""
        live = self.get(key)
        version = obj["metadata"].get("resourceVersion")
        if version and version != live["metadata"]["resourceVersion"]:
            raise errors.conflict(GroupResource("", key[0]), key[2], errors.STALE)
        return live

    def put(self, key: Key, obj: Object, kind: str = "MODIFIED", *, revision: int | None = None) -> Object:
        if revision is None:
            self.revision += 1
            revision = self.revision
        self.writes += 1
        obj = copy.deepcopy(obj)
        obj["metadata"]["resourceVersion"] = str(revision)
        self.objects[key] = obj
        self._log(revision, key[0], kind, obj)
        return copy.deepcopy(obj)

    def remove(self, key: Key, *, revision: int | None = None) -> Object:
        if revision is None:
            self.revision += 1
            revision = self.revision
        obj = self.objects.pop(key)
        obj["metadata"]["resourceVersion"] = str(revision)
        self._log(revision, key[0], "DELETED", obj)
        return obj

    def compact(self) -> None:
        self.compacted = self.revision
        self.history.clear()

    def end_watches(self) -> None:
        self.cut += 1
        self._wake()

    async def watch(self, resource: str, after: int) -> AsyncIterator[Object]:
        if after < self.compacted:
            raise errors.expired("too old resource version")
        cut, seen = self.cut, after
        while cut == self.cut:
            changed = self._changed
            start = bisect.bisect_right(self.history, seen, key=lambda entry: entry[0])
            news = self.history[start:]
            for _, kind, change, obj in news:
                if kind == resource:
                    yield {"type": change, "object": copy.deepcopy(obj)}
            # Whoever reads may have taken their time: what came meanwhile is read next.
            seen = news[-1][0] if news else seen
            await changed.wait()

    def _log(self, revision: int, resource: str, kind: str, obj: Object) -> None:
        self.history.append((revision, resource, kind, copy.deepcopy(obj)))
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
