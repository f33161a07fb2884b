"""Two thousand watches and a hundred slow readers on one server: nobody else notices.

Slow readers cost a bounded amount of memory each, are told that they are too late (410) and can start anew;
when all have gone, so has what they cost. Takes about a minute: `FUZZ_LOAD=1` runs it.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time

import httpx
import pytest

from .devserver import API, job, running

WATCHES = int(os.environ.get("FUZZ_WATCHES", "2000"))
SLOW = 100
WRITES = 90
SIZE = 500_000

pytestmark = pytest.mark.skipif(not os.environ.get("FUZZ_LOAD"), reason="takes a minute; FUZZ_LOAD=1 runs it")


async def latency(client: httpx.AsyncClient, count: int = 100) -> float:
    """The median of some GETs, in milliseconds."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        assert (await client.get(f"{API}/default/inferencejobs/a")).status_code == 200
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


async def test_two_thousand_watches_and_a_hundred_slow_readers(tmp_path):
    async with running(tmp_path) as (server, client), asyncio.timeout(400):
        created = await client.post(f"{API}/default/inferencejobs", json=job("a"))
        assert created.status_code == 201, created.text
        version = created.json()["metadata"]["resourceVersion"]
        await latency(client)
        figures = {"memory": [server.megabytes()], "get ms": [await latency(client)]}
        connections = server.descriptors()

        gate = asyncio.Semaphore(32)

        async def idle():
            async with gate:
                return await server.open_watch("ai-system", version)

        watches = await asyncio.gather(*(idle() for _ in range(WATCHES)))
        slow = await asyncio.gather(*(server.open_watch("default", version) for _ in range(SLOW)))
        for _, writer in slow:
            writer.transport.pause_reading()
        figures["memory"].append(server.megabytes())
        figures["get ms"].append(await latency(client))

        for number in range(WRITES):
            patch = {"spec": {"args": [f"{number}" + "y" * SIZE]}}
            headers = {"content-type": "application/merge-patch+json"}
            answer = await client.patch(
                f"{API}/default/inferencejobs/a", content=json.dumps(patch), headers=headers
            )
            assert answer.status_code == 200
        figures["memory"].append(server.megabytes())
        figures["get ms"].append(await latency(client))

        # All idle watches are alive, and learn at once of what concerns them.
        began = time.perf_counter()
        assert (await client.post(f"{API}/ai-system/inferencejobs", json=job("b"))).status_code == 201
        lines = await asyncio.gather(
            *(asyncio.wait_for(reader.readuntil(b"}\n"), 30) for reader, _ in watches)
        )
        figures["fan-out s"] = [time.perf_counter() - began]
        wrong = [line for line in lines if b'"ADDED"' not in line]
        assert not wrong, f"{len(wrong)} of {len(lines)}: {wrong[0][:300]!r}"

        # The slow ones are cut with a 410.
        endings = []
        for _, writer in slow:
            writer.transport.resume_reading()
        for reader, _ in slow:
            received = b""
            while chunk := await asyncio.wait_for(reader.read(1 << 18), 30):
                received = received[-2000:] + chunk
                if received.endswith(b"0\r\n\r\n"):
                    break
            endings.append(received[-2000:])
        assert all(b'"type":"ERROR"' in ending and b'"code":410' in ending for ending in endings)

        for _, writer in [*watches, *slow]:
            writer.transport.abort()
        async with asyncio.timeout(20):
            while server.descriptors() > connections + 5:
                await asyncio.sleep(0.1)
        figures["memory"].append(server.megabytes())
        figures["get ms"].append(await latency(client))
        print({name: [round(value, 1) for value in values] for name, values in figures.items()})
        _, opened, busy, _ = figures["memory"]
        assert busy - opened < 400, "slow readers are buffered without bound"
        assert figures["get ms"][1] < 10 * figures["get ms"][0] + 5
