"""The shared, bounded cache behind reviews."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.auth.lookup import Answer, Lookup


class Oracle:
    """Counts questions; answers when told to."""

    def __init__(self, ttl: float = 10) -> None:
        self.asked = 0
        self.ttl = ttl
        self.release = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> Answer[int]:
        self.asked += 1
        number = self.asked
        await self.release.wait()
        if self.error:
            raise self.error
        return Answer(number, self.ttl)


@pytest.fixture
def lookup(clock):
    return Lookup(capacity=3, now=clock.seconds)


async def gather_waiting(lookup, oracle, count):
    tasks = [asyncio.ensure_future(lookup.get("key", oracle)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_many_callers_ask_once(lookup):
    oracle = Oracle()
    tasks = await gather_waiting(lookup, oracle, 10)
    oracle.release.set()
    assert await asyncio.gather(*tasks) == [1] * 10


async def test_an_answer_holds_for_its_time(lookup, clock):
    oracle = Oracle(ttl=10)
    oracle.release.set()
    assert await lookup.get("key", oracle) == 1
    clock.advance(9.9)
    assert await lookup.get("key", oracle) == 1
    clock.advance(0.1)
    assert await lookup.get("key", oracle) == 2


async def test_an_error_reaches_all_who_wait_and_is_not_kept(lookup):
    oracle = Oracle()
    oracle.error = ValueError("no")
    tasks = await gather_waiting(lookup, oracle, 3)
    oracle.release.set()
    assert [type(item) for item in await asyncio.gather(*tasks, return_exceptions=True)] == [ValueError] * 3
    oracle.error = None
    assert await lookup.get("key", oracle) == 2


async def test_another_asks_when_the_asker_is_cancelled(lookup):
    oracle = Oracle()
    first, *others = await gather_waiting(lookup, oracle, 3)
    first.cancel()
    await asyncio.sleep(0)
    oracle.release.set()
    assert await asyncio.gather(*others) == [2, 2]


async def test_a_waiter_that_is_cancelled_disturbs_nobody(lookup):
    oracle = Oracle()
    first, second, third = await gather_waiting(lookup, oracle, 3)
    second.cancel()
    await asyncio.sleep(0)
    oracle.release.set()
    assert await asyncio.gather(first, third) == [1, 1]


async def test_an_answer_without_time_is_shared_but_not_kept(lookup):
    oracle = Oracle(ttl=0)
    tasks = await gather_waiting(lookup, oracle, 3)
    oracle.release.set()
    assert await asyncio.gather(*tasks) == [1, 1, 1]
    assert len(lookup) == 0


async def test_the_least_recently_used_answer_goes_first(lookup):
    oracle = Oracle()
    oracle.release.set()
    for key in "abcad":
        await lookup.get(key, oracle)
    assert len(lookup) == 3
    asked = oracle.asked
    await lookup.get("a", oracle)
    assert oracle.asked == asked
    await lookup.get("b", oracle)
    assert oracle.asked == asked + 1
