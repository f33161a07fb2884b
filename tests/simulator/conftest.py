"""The simulated cluster's registry over a real store in memory, and time that passes when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from apiserver.apis.ai.resources import RESOURCES
from apiserver.machinery.errors import APIError
from apiserver.machinery.options import DeleteOptions
from apiserver.registry.build import build_registry
from apiserver.registry.hooks import AdmitAll, Caller
from apiserver.registry.local import LocalObjects
from apiserver.registry.store import Registry
from apiserver.registry.verbs.delete import delete
from apiserver.simulator.core import CORE_RESOURCES
from storage.open import open_store

Object = dict[str, Any]

PATIENCE = 10.0
"""Seconds that a test waits for something that is to happen."""


@dataclass
class FakeTime:
    """Sleepers wake when the test lets time pass."""

    now: float = 0.0
    sleepers: list[tuple[float, asyncio.Future[None]]] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sleepers.append((self.now + seconds, woken))
        await woken

    def pass_(self, seconds: float) -> None:
        self.now += seconds
        due = [item for item in self.sleepers if item[0] <= self.now]
        self.sleepers = [item for item in self.sleepers if item not in due]
        for _, woken in due:
            if not woken.done():
                woken.set_result(None)

    async def asleep(self, count: int = 1) -> None:
        """Wait until so many sleep."""
        await until(lambda: _now(len([1 for _, woken in self.sleepers if not woken.done()]) >= count))


async def _now(value: bool) -> bool:
    return value


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """What the condition gives once it gives something."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await condition()):
            await asyncio.sleep(0.005)
        return found


@dataclass
class Cluster:
    """Short ways to objects."""

    registry: Registry
    objects: LocalObjects

    async def get(self, resource: str, name: str, namespace: str = "ml") -> Object | None:
        try:
            return await self.objects.get(resource, namespace, name)
        except APIError as error:
            if error.code == 404:
                return None
            raise

    async def names(self, resource: str) -> list[str]:
        return [item["metadata"]["name"] for item in (await self.objects.list(resource))[0]]

    async def node(self, name: str = "gpu-0", **spec: Any) -> Object:
        return await self.objects.create("nodes", {**_typed("v1", "Node", name, ""), "spec": spec})

    async def pod(self, name: str = "p", *, owners: tuple[Object, ...] = (), **given: Any) -> Object:
        pod = _typed("v1", "Pod", name)
        pod["metadata"]["annotations"] = given.pop("annotations", {})
        pod["metadata"]["ownerReferences"] = [_reference(owner) for owner in owners]
        pod["spec"] = {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never", **given}
        return await self.objects.create("pods", pod)

    async def job(self, name: str = "llama", *finalizers: str) -> Object:
        job = {**_typed("ai.example.com/v1", "InferenceJob", name), "spec": {"image": "vllm"}}
        job["metadata"]["finalizers"] = list(finalizers)
        return await self.objects.create("inferencejobs", job)

    async def delete_job(self, name: str, policy: str) -> None:
        """As a client does that says what becomes of the dependents."""
        store = self.registry.get("ai.example.com", "inferencejobs")
        assert store is not None
        await delete(store, "v1", "ml", name, DeleteOptions(propagation_policy=policy), Caller())

    async def phase(self, name: str = "p") -> str:
        pod = await self.get("pods", name)
        return "" if pod is None else str(pod["status"]["phase"])

    async def becomes(self, phase: str, name: str = "p") -> None:
        async def reached() -> bool:
            return await self.phase(name) == phase

        await until(reached)

    async def gone(self, resource: str, name: str, namespace: str = "ml") -> None:
        async def is_gone() -> bool:
            return await self.get(resource, name, namespace) is None

        await until(is_gone)


def _typed(version: str, kind: str, name: str, namespace: str = "ml") -> Object:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": meta}


def _reference(owner: Object) -> Object:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
    }


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """An empty cluster."""
    storage = await open_store("sqlite://:memory:")
    registry, cache = build_registry((*RESOURCES, *CORE_RESOURCES), storage, "/test", AdmitAll())
    async with running(cache.run):
        await cache.wait_ready()
        yield Cluster(registry, LocalObjects(tuple(registry), "test"))
    await storage.close()


@pytest.fixture
def time() -> FakeTime:
    """Time that stands still."""
    return FakeTime()


@asynccontextmanager
async def running(job: Callable[[], Awaitable[None]]) -> AsyncIterator[asyncio.Future[None]]:
    """Run beside the test until it is done; a failure of the job is the test's."""
    task = asyncio.ensure_future(job())
    try:
        yield task
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(name="running")
def _running() -> Any:
    return running


@pytest.fixture(name="until")
def _until() -> Any:
    return until
