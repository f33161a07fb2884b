"""The two kinds of collections that informers follow: of the host cluster over HTTP,
and of our own in process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from apiserver.controllers.clients import Host, Items, Object, Objects
from apiserver.machinery.errors import APIError

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends the initial events of a streaming list (KEP-3157)."""


class HostListWatch:
    """A collection of the host cluster. Lists by streaming where the server offers it: it is cheaper for the
    server, which then keeps no copy of the list in memory."""

    def __init__(
        self,
        host: Host,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        transform: Callable[[Object], Object] = lambda obj: obj,
    ) -> None:
        """`transform` cuts objects down while they stream in, so that the whole list is never held uncut."""
        self._host = host
        self._path = path
        self._query = dict(query or {})
        self._transform = transform
        self._streams = True

    @property
    def name(self) -> str:
        """The plural of the resource."""
        return self._path.rpartition("/")[2]

    async def list(self) -> tuple[Items, str]:
        """All objects, by a streaming list or, where it is not offered, page by page."""
        if self._streams:
            try:
                return await self._stream()
            except APIError as error:
                if error.code not in (400, 422):
                    raise
                self._streams = False
        answer = await self._host.list(self._path, query=self._query)
        return answer.get("items") or [], str((answer.get("metadata") or {}).get("resourceVersion") or "")

    async def watch(self, resource_version: str) -> AsyncIterator[Object]:
        """Events after the resourceVersion, with bookmarks."""
        query = {**self._query, "resourceVersion": resource_version, "allowWatchBookmarks": "true"}
        async for event in self._host.watch(self._path, query=query):
            yield event

    async def _stream(self) -> tuple[Items, str]:
        query = {
            **self._query,
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        objects: dict[tuple[str, str], Object] = {}
        stream: Any = self._host.watch(self._path, query=query)
        async with contextlib.aclosing(stream):
            async for event in stream:
                obj = event["object"]
                metadata = obj["metadata"]
                if event["type"] == "BOOKMARK":
                    if (metadata.get("annotations") or {}).get(INITIAL_EVENTS_END) == "true":
                        return list(objects.values()), str(metadata["resourceVersion"])
                    continue
                key = (metadata.get("namespace", ""), metadata["name"])
                if event["type"] == "DELETED":
                    objects.pop(key, None)
                else:
                    objects[key] = self._transform(obj)
        raise ConnectionError(f"the streaming list of {self._path} ended before it was complete")


class ObjectsListWatch:
    """A collection of our own."""

    def __init__(self, objects: Objects, resource: str) -> None:
        self._objects = objects
        self._resource = resource

    @property
    def name(self) -> str:
        """The plural of the resource."""
        return self._resource

    async def list(self) -> tuple[Items, str]:
        """All objects."""
        return await self._objects.list(self._resource)

    async def watch(self, resource_version: str) -> AsyncIterator[Object]:
        """Events after the resourceVersion."""
        async for event in self._objects.watch(self._resource, resource_version=resource_version):
            yield event
