"""A registry over a real store in memory, with its cache running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from apiserver.apis.ai.resources import RESOURCES
from apiserver.machinery.options import DeleteOptions, ListOptions, WriteOptions
from apiserver.machinery.patch import copy_json
from apiserver.registry.build import build_registry
from apiserver.registry.hooks import Admission, AdmitAll, Attributes, Caller
from apiserver.registry.intake import take_in
from apiserver.registry.local import LocalObjects
from apiserver.registry.representation import Whole
from apiserver.registry.selection import select
from apiserver.registry.store import ResourceStore, Stored
from apiserver.registry.verbs.create import create
from apiserver.registry.verbs.delete import Deleted, delete
from apiserver.registry.verbs.list import Listing, list_objects
from apiserver.registry.verbs.update import Update, Updated, update
from apiserver.registry.verbs.watch import Watch, watch
from storage.open import open_store

Object = dict[str, Any]
PLAIN = WriteOptions()


@dataclass
class SwitchedAdmission:
    """Admission that a test can make refuse or change."""

    on_admit: Callable[[Attributes], None] = lambda _: None
    seen: list[Attributes] = field(default_factory=list)

    async def admit(self, attributes: Attributes) -> None:
        self.seen.append(attributes)
        self.on_admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        await AdmitAll().validate(attributes)


@dataclass
class World:
    """The jobs' store with short ways to its verbs. `now` is the time of the watches' clock, in seconds."""

    store: ResourceStore
    objects: LocalObjects
    admission: SwitchedAdmission
    now: float = 0.0

    def caller(self, **given: Any) -> Caller:
        return Caller(user_agent="test", **given)

    def job(self, name: str = "llama", **spec: Any) -> Object:
        return {
            "apiVersion": "ai.example.com/v1",
            "kind": "InferenceJob",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"image": "vllm", **spec},
        }

    async def create(
        self, obj: Object, *, version: str = "v1", options: WriteOptions = PLAIN, **caller: Any
    ) -> Stored:
        body = copy_json(obj)
        take_in(self.store.resource, version, body)
        namespace = body["metadata"].get("namespace", "ml")
        return await create(self.store, version, namespace, body, options, self.caller(**caller))

    async def update(
        self,
        obj: Object,
        *,
        version: str = "v1",
        subresource: str = "",
        options: WriteOptions = PLAIN,
        unconditional: bool = False,
    ) -> Updated:
        caller = self.caller()

        def mutate(live: Object | None) -> Object:
            body = copy_json(obj)
            take_in(self.store.resource, version, body)
            self.store.track(live, body, version, subresource, options, caller)
            return body

        name = obj["metadata"]["name"]
        return await update(
            Update(
                self.store,
                version,
                "ml",
                name,
                subresource,
                mutate,
                options,
                caller,
                unconditional=unconditional,
            )
        )

    async def delete(self, name: str = "llama", **options: Any) -> Deleted:
        return await delete(self.store, "v1", "ml", name, DeleteOptions(**options), self.caller())

    async def list(self, namespace: str = "", **options: Any) -> Listing:
        listed = ListOptions(**options)
        selection = select(self.store.resource, namespace, "", listed)
        return await list_objects(self.store, selection, listed)

    async def watch(self, **options: Any) -> Watch:
        listed = ListOptions(watch=True, **options)
        selection = select(self.store.resource, "", "", listed)
        form = Whole(self.store.resource, "v1")
        return await watch(self.store, selection, form, listed, lambda: self.now)


def _admission(world: SwitchedAdmission) -> Admission:
    return world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """An empty registry."""
    storage = await open_store("sqlite://:memory:")
    admission = SwitchedAdmission()
    registry, cache = build_registry(RESOURCES, storage, "/test", _admission(admission))
    running = asyncio.get_running_loop().create_task(cache.run())
    await cache.wait_ready()
    jobs = registry.get("ai.example.com", "inferencejobs")
    assert jobs is not None
    yield World(jobs, LocalObjects(tuple(registry), "controller"), admission)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await storage.close()
