"""The controllers over the real registry and a real store; the host cluster is in memory. In real time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from realregistry import Real, real_registry, tasks, until

Object = dict[str, Any]


@pytest.fixture
async def real() -> AsyncIterator[Real]:
    async with real_registry() as lab:
        yield lab


async def test_a_job_lives_and_dies_by_the_rules_of_the_registry(real: Real) -> None:
    real.node("gpu-1")
    async with tasks(real.controllers_of("one").run(), real.play_kubelets()):
        await real.submit_job("llama", gpuCount=2, replicas=2, scratch={"size": "1Gi"})

        async def ready() -> bool:
            return (await real.phases()).get("llama") == "Ready"

        await until(ready)
        job = (await real.all("inferencejobs"))[0]
        assert job["metadata"]["generation"] == 1
        assert job["status"]["observedGeneration"] == 1
        assert {item["type"]: item["status"] for item in job["status"]["conditions"]} == {
            "Scheduled": "True",
            "Ready": "True",
        }
        entry = (await real.all("gpunodes"))[0]
        assert (entry["status"]["node"], entry["status"]["free"]) == ("gpu-1", 4)
        version = job["metadata"]["resourceVersion"]
        await asyncio.sleep(1.0)
        job = (await real.all("inferencejobs"))[0]
        assert job["metadata"]["resourceVersion"] == version, "an unchanged world is not written to"
        await real.objects.delete("inferencejobs", job)

        async def gone() -> bool:
            return await real.all("inferencejobs") == []

        await until(gone)
        assert (await real.all("gpunodes"))[0]["status"]["free"] == 8


async def test_two_leaders_on_one_store_never_book_more_than_there_is(real: Real) -> None:
    dice = random.Random(7)
    for number in range(4):
        real.node(f"gpu-{number}")
    seen: list[Object] = []

    def note(event: Object) -> None:
        if event["type"] != "BOOKMARK":
            seen.append(event["object"])

    async def look() -> None:
        _, version = await real.objects.list("gpunodes")
        async for event in real.objects.watch("gpunodes", resource_version=version):
            note(event)

    both = [real.controllers_of(name).run() for name in ("one", "two")]
    async with tasks(look(), *both, real.play_kubelets()):
        for number in range(40):
            await real.submit_job(
                f"job-{number}",
                gpuCount=dice.choice([1, 2, 4]),
                replicas=dice.choice([1, 1, 2]),
                priority=number % 3,
            )
            if number % 4 == 3:
                job = dice.choice(await real.all("inferencejobs"))
                await real.objects.delete("inferencejobs", {**job, "metadata": _without_version(job)})
        await asyncio.sleep(3)
        for job in await real.all("inferencejobs"):
            await real.objects.delete("inferencejobs", {**job, "metadata": _without_version(job)})

        async def gone() -> bool:
            return await real.all("inferencejobs") == []

        await until(gone)
        assert [entry["status"]["free"] for entry in await real.all("gpunodes")] == [8, 8, 8, 8]
    held = [sum(item["count"] for item in entry["status"].get("allocations") or ()) for entry in seen]
    assert max(held) == 8, "the fleet was full at times"
    assert all(total <= entry["status"]["capacity"] for total, entry in zip(held, seen, strict=True))


def _without_version(job: Object) -> Object:
    return {key: value for key, value in job["metadata"].items() if key != "resourceVersion"}
