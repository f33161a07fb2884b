"""Keeps `LiveConfig` true: read, watch from there, and read again when the watch ends, for ever.

An explicit loop of two states, because losing a change of the trusted authorities must be impossible:
after any interruption the object is read anew. Silence is bounded as well:
a watch is given up after `relist` seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

from apiserver.auth.configmap import NAME, NAMESPACE, LiveConfig
from apiserver.machinery.errors import APIError

COLLECTION = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


class HostReader(Protocol):
    """The part of the host cluster's client that is needed here.
    Failures are APIErrors, or `unreachable` ones.
    """

    async def get(self, path: str, *, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Read the JSON at a path."""
        ...

    def watch(self, path: str, *, query: Mapping[str, str] | None = None) -> AsyncIterator[dict[str, Any]]:
        """Watch events (`type`, `object`) of a path until the server ends the stream."""
        ...


class ConfigMapWatcher:
    """`run` belongs into the caller's TaskGroup."""

    def __init__(
        self,
        host: HostReader,
        live: LiveConfig,
        *,
        unreachable: tuple[type[Exception], ...] = (OSError,),
        relist: float = 600.0,
        retry: float = 2.0,
        request_timeout: float = 15.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Times in seconds. `unreachable`: the errors by which the host client says that nobody answers."""
        self._host = host
        self._live = live
        self._failures: tuple[type[Exception], ...] = (*unreachable, APIError, TimeoutError)
        self._relist = relist
        self._retry = retry
        self._request_timeout = request_timeout
        self._sleep = sleep

    async def run(self) -> None:
        """For ever; the pause between two rounds keeps a watch that ends at once from
        turning into a busy loop.
        """
        while True:
            await self.round()
            await self._sleep(self._retry)

    async def round(self) -> None:
        """Read the object, then follow it until the watch ends."""
        try:
            version = await self.read()
            await self._follow(version)
        except self._failures as error:
            self._live.problem = f"{NAMESPACE}/{NAME}: {error or 'no answer in time'}"

    async def read(self) -> str:
        """Read the object once (also before the server starts); the version to watch from. Raises what
        `get` raises.
        """
        async with asyncio.timeout(self._request_timeout):
            # A list, because its version is one to watch from even when the object does not exist.
            answer = await self._host.get(COLLECTION, query={"fieldSelector": f"metadata.name={NAME}"})
        items = answer.get("items") or [None]
        self._live.observe(items[0])
        return str((answer.get("metadata") or {}).get("resourceVersion") or "")

    async def _follow(self, version: str) -> None:
        query = {
            "fieldSelector": f"metadata.name={NAME}",
            "resourceVersion": version,
            "timeoutSeconds": str(int(self._relist)),
        }
        with contextlib.suppress(TimeoutError):  # the watch is old enough: read again
            async with asyncio.timeout(self._relist):
                async for event in self._host.watch(COLLECTION, query=query):
                    self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        if event.get("type") in ("ADDED", "MODIFIED"):
            self._live.observe(event.get("object"))
        elif event.get("type") == "DELETED":
            self._live.observe(None)
