"""etcd killed and started again under writes and fifty watchers, seen through HTTP.

Reads are 503 or right, never 404; nothing hangs; every watcher ends up with exactly what the store holds.
A few rounds in the ordinary run; `FUZZ_KILLS=200` makes more.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator

import httpx
import orjson
import pytest
from cluster import binaries
from cluster.process import Process, free_port

from storage.etcd.options import EtcdOptions

from .target import JOBS, target
from .test_kill import MERGE, content, whole
from .wire import listening

pytestmark = pytest.mark.etcd

ROUNDS = min(int(os.environ.get("FUZZ_KILLS", "3")), 40)
WATCHERS = 50
WRITERS = 6
SECONDS = 90
"""What nothing may take longer than."""


@pytest.fixture
def etcd(tmp_path) -> Iterator[tuple[Process, str]]:
    """An etcd that writes to disk, on a port that stays; (process, endpoint)."""
    programs = binaries.find()
    if programs is None:
        pytest.skip(binaries.MISSING)
    client, peer = free_port(), free_port()
    urls = {"client": f"http://127.0.0.1:{client}", "peer": f"http://127.0.0.1:{peer}"}
    process = Process(
        "etcd",
        [
            str(programs / "etcd"),
            f"--data-dir={tmp_path / 'etcd'}",
            f"--listen-client-urls={urls['client']}",
            f"--advertise-client-urls={urls['client']}",
            f"--listen-peer-urls={urls['peer']}",
            f"--initial-advertise-peer-urls={urls['peer']}",
            f"--initial-cluster=default={urls['peer']}",
        ],
        tmp_path / "etcd.log",
    )
    process.start()
    yield process, f"127.0.0.1:{client}"
    process.stop()


class Follower:
    """A watch as clients keep it: what it holds is what it was told."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.held: dict[str, int] = {}
        self.version = ""
        self.relists = 0

    async def run(self) -> None:
        while True:
            try:
                if not self.version:
                    await self._list()
                await self._follow()
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)

    async def _list(self) -> None:
        answer = await self.client.get(JOBS)
        assert answer.status_code in {200, 503, 504}, answer.text
        if answer.status_code == 200:
            found = answer.json()
            self.held = {item["metadata"]["name"]: whole(item) for item in found["items"]}
            self.version = found["metadata"]["resourceVersion"]
            self.relists += 1

    async def _follow(self) -> None:
        if not self.version:
            return
        query = {"watch": "1", "resourceVersion": self.version, "timeoutSeconds": "300"}
        async with self.client.stream("GET", JOBS, params=query) as stream:
            assert stream.status_code in {200, 503, 504}, stream.status_code
            if stream.status_code != 200:
                return
            async for line in stream.aiter_lines():
                event = orjson.loads(line)
                if event["type"] == "ERROR":
                    assert event["object"]["code"] == 410, event
                    self.version = ""
                    return
                self._take(event["type"], event["object"])

    def _take(self, kind: str, obj: dict) -> None:
        name, version = obj["metadata"]["name"], obj["metadata"]["resourceVersion"]
        assert int(version) > int(self.version), "an event twice, or out of order"
        self.version = version
        if kind == "DELETED":
            del self.held[name]
            return
        number = whole(obj)
        assert number >= self.held.get(name, -1), "a step back"
        assert (kind == "ADDED") == (name not in self.held)
        self.held[name] = number


class Writer:
    """Creates and changes objects of its own; an unknown outcome is settled by looking."""

    def __init__(self, client: httpx.AsyncClient, name: str) -> None:
        self.client, self.name = client, name
        self.number = -1
        self.writes = 0

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            number = self.number + 1
            body = content(self.name, number)
            if number:
                answer = await self.client.patch(f"{JOBS}/{self.name}", json=body, headers=MERGE)
            else:
                answer = await self.client.post(JOBS, json=body)
            if answer.status_code in {200, 201}:
                self.number = number
                self.writes += 1
            else:
                assert answer.status_code in {503, 504, 409}, answer.text
                await self.settle(number)

    async def settle(self, tried: int) -> None:
        while True:
            answer = await self.client.get(f"{JOBS}/{self.name}")
            if answer.status_code == 200:
                have = whole(answer.json())
                assert have in {self.number, tried}, (have, self.number, tried)
                self.number = have
                return
            if answer.status_code == 404:
                assert self.number < 0, "acknowledged, and not found"
                return
            assert answer.status_code in {503, 504}, answer.text
            await asyncio.sleep(0.05)


async def test_etcd_killed_under_writes_and_watches(tmp_path, etcd):
    process, endpoint = etcd
    source = random.Random(1)
    options = EtcdOptions(endpoints=(endpoint,), timeout=3)
    limits = httpx.Limits(max_connections=None)
    async with (
        target(tmp_path, storage_at=options) as served,
        listening(served) as wire,
        httpx.AsyncClient(
            base_url=f"https://localhost:{wire.port}", verify=wire.context, timeout=SECONDS, limits=limits
        ) as client,
        asyncio.timeout(60 + 30 * ROUNDS),
    ):
        followers = [Follower(client) for _ in range(WATCHERS)]
        writers = [Writer(client, f"w{number}") for number in range(WRITERS)]
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(follower.run()) for follower in followers]
            writing = [tasks.create_task(writer.run(stop)) for writer in writers]
            for _ in range(ROUNDS):
                await asyncio.sleep(source.uniform(0.3, 1.5))
                process.kill()
                await asyncio.sleep(source.uniform(0.1, 1.5))
                process.start()
            await asyncio.sleep(1)
            stop.set()
            await asyncio.gather(*writing)
            expected = {writer.name: writer.number for writer in writers if writer.number >= 0}
            found = {
                item["metadata"]["name"]: whole(item) for item in (await client.get(JOBS)).json()["items"]
            }
            assert found == expected
            while any(follower.held != expected for follower in followers):
                await asyncio.sleep(0.05)
            for task in following:
                task.cancel()
        writes, lists = (
            sum(writer.writes for writer in writers),
            sum(follower.relists for follower in followers),
        )
        print(f"{ROUNDS} kills of etcd, {writes} writes, {lists} lists by {WATCHERS} watchers")
        assert served.faults == []
