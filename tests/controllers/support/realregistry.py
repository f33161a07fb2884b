"""Controllers over the real registry and a real store; the host cluster is in memory. In real time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from fakecluster import Lab, MemoryHost, MemoryStore

from apiserver.apis.ai.resources import RESOURCES
from apiserver.controllers.clock import SystemClock
from apiserver.controllers.run import Controllers
from apiserver.registry.build import build_registry
from apiserver.registry.hooks import AdmitAll
from apiserver.registry.local import LocalObjects
from storage.open import open_store

Object = dict[str, Any]


class Real(Lab):
    """A lab whose own objects are in the real registry."""

    def __init__(self, registry: Any, storage: Any) -> None:
        super().__init__()
        self.clock = SystemClock()  # type: ignore[assignment]
        self.cluster = MemoryStore(self.clock)
        self.host = MemoryHost(self.cluster)
        self.objects = LocalObjects(tuple(registry), "inference-apiserver")  # type: ignore[assignment]
        self.storage = storage

    def controllers_of(self, identity: str) -> Controllers:
        return Controllers(objects=self.objects, host=self.host, identity=identity)

    async def submit_job(self, name: str, **spec: Any) -> Object:
        job = {
            "apiVersion": "ai.example.com/v1",
            "kind": "InferenceJob",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"image": "vllm:1", **spec},
        }
        return await self.objects.create("inferencejobs", job)

    async def all(self, resource: str) -> list[Object]:
        return (await self.objects.list(resource))[0]

    async def phases(self) -> dict[str, str]:
        return {job["metadata"]["name"]: job["status"]["phase"] for job in await self.all("inferencejobs")}

    async def play_kubelets(self) -> None:
        while True:
            self.kubelets()
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def real_registry() -> AsyncIterator[Real]:
    storage = await open_store("sqlite://:memory:")
    registry, cache = build_registry(RESOURCES, storage, "/registry", AdmitAll())
    running = asyncio.ensure_future(cache.run())
    await cache.wait_ready()
    yield Real(registry, storage)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await storage.close()


@contextlib.asynccontextmanager
async def tasks(*loops: Any) -> AsyncIterator[None]:
    started = [asyncio.ensure_future(loop) for loop in loops]
    try:
        yield
        for task in started:
            if task.done():
                task.result()
    finally:
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)


async def until(check: Callable[[], Any], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not await check():
            await asyncio.sleep(0.05)
