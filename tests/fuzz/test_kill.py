"""kill -9 while clients write: what was acknowledged is there, once and whole; what was not is there or not.

A few rounds in the ordinary run; `FUZZ_KILLS=200` makes more.
"""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any

import httpx

from .devserver import API, Dev, job

ROUNDS = int(os.environ.get("FUZZ_KILLS", "4"))
WRITERS = 8
JOBS = f"{API}/default/inferencejobs"
MERGE = {"content-type": "application/merge-patch+json"}
LOST = (httpx.TransportError,)


class Ledger:
    """What the clients know: for each object the number last acknowledged, and the one in doubt."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, int] = {}
        self.in_doubt: dict[str, int] = {}
        self.writes = 0

    def check(self, found: dict[str, dict[str, Any]]) -> None:
        """Compare with what the server has now, and settle what was in doubt."""
        for name, number in self.acknowledged.items():
            assert name in found, f"{name} is lost, acknowledged at {number}"
            have = whole(found[name])
            assert have in {number, self.in_doubt.get(name, number)}, (name, have, number)
        unknown = found.keys() - self.acknowledged.keys() - self.in_doubt.keys()
        assert not unknown, f"nobody wrote {unknown}"
        self.acknowledged = {name: whole(obj) for name, obj in found.items()}
        self.in_doubt = {}


def whole(obj: dict[str, Any]) -> int:
    """The number that an object holds, which must be the same in all of its parts: half an object has two."""
    number = obj["spec"]["priority"]
    assert obj["metadata"]["annotations"]["number"] == str(number)
    assert obj["spec"]["args"] == [str(number)] * 3
    # Generations count the changes of the spec: one that was applied twice would count twice.
    assert obj["metadata"]["generation"] == number + 1
    return int(number)


def content(name: str, number: int) -> dict[str, Any]:
    obj = job(name, priority=number, args=[str(number)] * 3)
    obj["metadata"] = {"name": name, "annotations": {"number": str(number)}}
    return obj


async def write(client: httpx.AsyncClient, ledger: Ledger, writer: int, prefix: str) -> None:
    """Create objects and change them, until the server is gone."""
    for count in range(10_000):
        name = f"{prefix}-{writer}-{count % 5}"
        number = ledger.acknowledged.get(name, -1) + 1
        ledger.in_doubt[name] = number
        try:
            if number:
                answer = await client.patch(f"{JOBS}/{name}", json=content(name, number), headers=MERGE)
            else:
                answer = await client.post(JOBS, json=content(name, 0))
        except LOST:
            return
        assert answer.status_code in {200, 201}, answer.text
        ledger.acknowledged[name] = number
        del ledger.in_doubt[name]
        ledger.writes += 1


async def everything(client: httpx.AsyncClient) -> dict[str, dict[str, Any]]:
    async with asyncio.timeout(30):
        while True:
            try:
                answer = await client.get(JOBS)
                if answer.status_code == 200:
                    return {item["metadata"]["name"]: item for item in answer.json()["items"]}
                assert answer.status_code in {500, 503, 504}, answer.text
            except LOST:
                pass
            await asyncio.sleep(0.05)


async def round_of(server: Dev, ledger: Ledger, source: random.Random, number: int) -> None:
    async with server.client(10) as client:
        ledger.check(await everything(client))
        async with asyncio.TaskGroup() as tasks:
            for writer in range(WRITERS):
                tasks.create_task(write(client, ledger, writer, f"r{number % 3}"))
            await asyncio.sleep(source.uniform(0.05, 1.0))
            server.process.kill()


async def test_no_acknowledged_write_is_lost_when_the_server_is_killed(tmp_path):
    server, ledger, source = Dev(tmp_path), Ledger(), random.Random(1)
    try:
        for number in range(ROUNDS):
            server.start()
            await round_of(server, ledger, source, number)
        server.start()
        async with server.client(10) as client:
            ledger.check(await everything(client))
    finally:
        server.process.stop()
    print(f"{ROUNDS} kills, {ledger.writes} writes acknowledged, {len(ledger.acknowledged)} objects")
    assert ledger.writes > ROUNDS
