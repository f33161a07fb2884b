"""Controllers whose news come late, each kind of object by a while of its own, over the real registry.

Whatever they believe meanwhile: what has ended stays as it ended, and at rest the statuses, the ledger and
the pods say the same.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from realregistry import Real, real_registry, tasks, until

from apiserver.controllers.run import Controllers
from apiserver.machinery.errors import APIError

Object = dict[str, Any]

LATE = 0.08
"""The share of events that come late, and all that follow with them."""
LATEST = 0.6
ENDED = ("Succeeded", "Failed")


class Late:
    """The world as it is, but for watches: what they tell comes late."""

    def __init__(self, world: Any, dice: random.Random) -> None:
        self._world = world
        self._dice = dice

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    async def watch(self, *where: str, **options: Any) -> AsyncIterator[Object]:
        async for event in self._world.watch(*where, **options):
            if self._dice.random() < LATE:
                await asyncio.sleep(self._dice.uniform(0, LATEST))
            yield event


class Chaos:
    """Users and kubelets that do what they like, and an observer who misses nothing."""

    def __init__(self, real: Real, seed: int) -> None:
        self.real = real
        self.dice = random.Random(seed)
        self.phases: dict[str, list[str]] = {}
        self.wrong: list[str] = []
        self.calm = False

    def leader(self, identity: str) -> Controllers:
        objects, host = Late(self.real.objects, self.dice), Late(self.real.host, self.dice)
        return Controllers(objects=objects, host=host, identity=identity)

    async def observe(self) -> None:
        _, version = await self.real.objects.list("inferencejobs")
        async for event in self.real.objects.watch("inferencejobs", resource_version=version):
            if event["type"] in ("ADDED", "MODIFIED"):
                self._note(event["object"])

    def _note(self, job: Object) -> None:
        phase = (job.get("status") or {}).get("phase", "Pending")
        seen = self.phases.setdefault(job["metadata"]["uid"], [])
        if seen and seen[-1] == phase:
            return
        seen.append(phase)
        if phase == "Succeeded":
            self.wrong += [f"{job['metadata']['name']}: {why}" for why in self._unfinished(job)]

    def _unfinished(self, job: Object) -> Iterator[str]:
        """Replicas whose last pod has not ended well."""
        for replica in range(job["spec"].get("replicas", 1)):
            last: Object | None = None
            for _, kind, _, pod in self.real.cluster.history:
                ours = kind == "pods" and pod["metadata"]["name"] == f"{job['metadata']['name']}-{replica}"
                if ours and pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]:
                    last = pod
            if last is None or (last.get("status") or {}).get("phase") != "Succeeded":
                yield f"replica {replica} has not succeeded: {last}; {job['status']}"

    async def kubelets(self) -> None:
        while True:
            self.real.kubelets()
            for (kind, namespace, name), pod in list(self.real.cluster.objects.items()):
                running = kind == "pods" and (pod.get("status") or {}).get("phase") == "Running"
                if running and not self.calm and self.dice.random() < 0.03:
                    self.real.set_pod(name, self.dice.choice((*ENDED[:1] * 3, "Failed")), namespace=namespace)
            await asyncio.sleep(0.02)

    async def users(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        end, number = loop.time() + seconds, 0
        while loop.time() < end:
            if number < 30:
                await self.real.submit_job(f"job-{number}", **self._spec())
                number += 1
            await self._meddle()
            await asyncio.sleep(self.dice.uniform(0, 0.15))
        self.calm = True

    def _spec(self) -> Object:
        return {
            "gpuCount": self.dice.choice([1, 2, 4]),
            "replicas": self.dice.choice([1, 1, 2, 3]),
            "restartPolicy": self.dice.choice(["Never", "Never", "OnFailure"]),
            "backoffLimit": self.dice.choice([0, 1]),
            "priority": self.dice.choice([0, 0, 1]),
        }

    async def _meddle(self) -> None:
        job = self.dice.choice(await self.real.all("inferencejobs"))
        try:
            match self.dice.randrange(6):
                case 0 | 1:
                    job["spec"]["suspend"] = not job["spec"].get("suspend")
                    await self.real.objects.update("inferencejobs", job)
                case 2:
                    await self.real.objects.delete("inferencejobs", job)
                case 3:
                    pods = [key for key in self.real.cluster.objects if key[0] == "pods"]
                    if pods:
                        _, namespace, name = self.dice.choice(pods)
                        await self.real.host.delete(f"/api/v1/namespaces/{namespace}/pods/{name}")
        except APIError as error:
            if error.code not in (404, 409):
                raise

    async def go_on(self) -> None:
        """Let all that is suspended run, so that nothing waits for a user."""
        for job in await self.real.all("inferencejobs"):
            if job["spec"].get("suspend"):
                try:
                    fresh = await self.real.objects.get("inferencejobs", "ml", job["metadata"]["name"])
                    fresh["spec"]["suspend"] = False
                    await self.real.objects.update("inferencejobs", fresh)
                except APIError as error:
                    if error.code not in (404, 409):
                        raise

    async def contradictions(self) -> list[str]:
        jobs = {job["metadata"]["uid"]: job for job in await self.real.all("inferencejobs")}
        told = {
            (uid, item["replica"]): (item["node"], item["gpus"])
            for uid, job in jobs.items()
            for item in job["status"].get("placements") or ()
            if item["gpus"]
        }
        booked = {
            (item["uid"], item["replica"]): (entry["status"]["node"], item["count"])
            for entry in await self.real.all("gpunodes")
            for item in entry["status"].get("allocations") or ()
        }
        found = [f"placements {sorted(told.items())}, ledger {sorted(booked.items())}"] * (told != booked)
        for job in jobs.values():
            found += self._of_job(job)
        return found

    def _of_job(self, job: Object) -> Iterator[str]:
        name, status = job["metadata"]["name"], job["status"]
        if job["metadata"].get("deletionTimestamp"):
            yield f"{name} is still there"
        if status["phase"] in ENDED:
            if status.get("placements") or status.get("readyReplicas"):
                yield f"{name} has ended and holds something"
            return
        placed = [item["pod"] for item in status.get("placements") or () if item["gpus"]]
        pods = self.real.pods()
        ready = [
            pod for pod in placed if pod in pods and pods[pod].get("status", {}).get("phase") == "Running"
        ]
        if status.get("readyReplicas", 0) != len(ready):
            yield f"{name} tells of {status.get('readyReplicas')} ready replicas, {len(ready)} are"
        if status.get("observedGeneration") != job["metadata"]["generation"] and status["phase"] != "Pending":
            yield f"{name} tells of an old generation"


@pytest.mark.parametrize("leaders", [1, 2])
@pytest.mark.parametrize("seed", [1, 2])
async def test_late_news_never_undo_an_end_and_at_rest_all_say_the_same(seed: int, leaders: int) -> None:
    async with real_registry() as real:
        chaos = Chaos(real, seed)
        for number in range(3):
            real.node(f"gpu-{number}")
        async with tasks(chaos.observe(), chaos.kubelets(), chaos.leader("one").run()):
            # Others that believe they lead find out some time that they do not.
            async with tasks(*(chaos.leader(f"other-{number}").run() for number in range(leaders - 1))):
                await real.submit_job("first")
                await chaos.users(5.0)
            await chaos.go_on()
            quiet = 0

            async def at_rest() -> bool:
                nonlocal quiet
                quiet = 0 if await chaos.contradictions() else quiet + 1
                return quiet >= 20

            try:
                await until(at_rest, 40.0)
            except TimeoutError:
                pytest.fail("; ".join(await chaos.contradictions()) or "it never comes to rest")
        assert chaos.wrong == []
        ends = [phases for phases in chaos.phases.values() if set(phases) & set(ENDED)]
        assert len(ends) >= 2, "some have ended"
        for phases in ends:
            first = next(index for index, phase in enumerate(phases) if phase in ENDED)
            assert phases[first + 1 :] in ([], ["Terminating"]), phases
