"""Requests made from our own OpenAPI documents: whatever comes in, the answer is one that the API defines.

No 5xx but deliberate ones, every failure a Status with the right code and reason, nothing of the insides in
an answer. `FUZZ_EXAMPLES=100000` makes a longer run, `FUZZ_SEED` another one.
"""

from __future__ import annotations

import asyncio
import gc
import os
import traceback

import pytest

from .generator import Generator
from .target import Attempt, Target, complaint, target

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "3000"))
SEED = int(os.environ.get("FUZZ_SEED", "20260601"))
AT_A_TIME = 32
MAX_SHOWN = 20


async def documents(served: Target) -> list[dict]:
    """Our OpenAPI v3 documents, as any client gets them."""
    index = (await served.send(Attempt("GET", "/openapi/v3"))).json()["paths"]
    paths = [
        entry["serverRelativeURL"].partition("?")[0] for name, entry in index.items() if name.count("/") > 1
    ]
    return [(await served.send(Attempt("GET", path))).json() for path in paths]


def resident_megabytes() -> float:
    """Memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.fixture
async def served(tmp_path):
    async with target(tmp_path) as running:
        yield running


async def test_every_answer_is_one_that_the_api_defines(served):
    generator = Generator(await documents(served), SEED)
    wrong: dict[str, str] = {}
    codes: dict[int, int] = {}
    left = iter(range(EXAMPLES))
    memory = [resident_megabytes()]

    async def attack() -> None:
        for number in left:
            if number % 10_000 == 9_999:
                memory.append(resident_megabytes())
            attempt = generator.attempt()
            before = len(served.faults)
            try:
                answer = await served.send(attempt)
            except Exception as error:
                wrong.setdefault(f"{error!r:.100}", f"  {attempt}\n{traceback.format_exc()[-2000:]}")
                continue
            codes[answer.code] = codes.get(answer.code, 0) + 1
            generator.memory.learn(answer)
            why = complaint(attempt, answer)
            if why:
                log = "".join(served.faults[before:])
                # The same fault has the same end of its traceback.
                wrong.setdefault(f"{why} {log[-300:]}", f"{answer.message[:300]}\n  {attempt}\n{log[-2000:]}")

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_A_TIME):
            tasks.create_task(attack())
    gc.collect()
    grown = " → ".join(f"{megabytes:.0f}" for megabytes in [*memory, resident_megabytes()])
    print(f"{EXAMPLES} requests, answers {dict(sorted(codes.items()))}, {grown} MB")
    assert not wrong, "\n\n".join(f"{why}\n{told}" for why, told in list(wrong.items())[:MAX_SHOWN])
    assert served.faults == []
    assert len(codes) > 8, "too few kinds of answers: the requests are not varied enough"
