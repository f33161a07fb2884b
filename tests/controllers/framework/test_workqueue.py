"""The queue: once at a time, once in line, later after failures."""

from __future__ import annotations

import asyncio

from apiserver.controllers.clock import FakeClock
from apiserver.controllers.workqueue import WorkQueue


def queue_of(clock: FakeClock) -> WorkQueue:
    return WorkQueue("test", clock, base_seconds=1.0, max_seconds=8.0, uniform=lambda: 0.0)


async def test_a_key_waits_in_line_only_once() -> None:
    queue = queue_of(FakeClock())
    queue.add("a")
    queue.add("a")
    queue.add("b")
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_added_while_worked_on_comes_again_and_never_twice_at_once() -> None:
    queue = queue_of(FakeClock())
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    waiting = asyncio.ensure_future(queue.get())
    await FakeClock.settle()
    assert not waiting.done()
    queue.done("a")
    assert await waiting == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_failures_back_off_exponentially_up_to_a_limit_and_are_forgotten() -> None:
    queue = queue_of(FakeClock())
    assert [queue.add_failed("a") for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert queue.failures("a") == 5
    queue.forget("a")
    assert queue.add_failed("a") == 1.0


async def test_jitter_lengthens_a_delay_by_at_most_a_fifth() -> None:
    queue = WorkQueue("test", FakeClock(), base_seconds=1.0, uniform=lambda: 1.0)
    assert queue.add_failed("a") == 1.2


async def test_a_delayed_key_comes_when_its_time_has_come() -> None:
    clock = FakeClock()
    queue = queue_of(clock)
    queue.add_after("late", 10.0)
    queue.add_after("soon", 5.0)
    first = asyncio.ensure_future(queue.get())
    await clock.advance(4.9)
    assert not first.done()
    await clock.advance(0.2)
    assert await first == "soon"
    second = asyncio.ensure_future(queue.get())
    await clock.advance(5.0)
    assert await second == "late"


async def test_the_earliest_of_several_delays_wins_and_the_key_comes_once() -> None:
    clock = FakeClock()
    queue = queue_of(clock)
    queue.add_after("a", 10.0)
    queue.add_after("a", 2.0)
    queue.add_after("a", 20.0)
    first = asyncio.ensure_future(queue.get())
    await clock.advance(2.0)
    assert await first == "a"
    queue.done("a")
    again = asyncio.ensure_future(queue.get())
    await clock.advance(60.0)
    assert not again.done()
    again.cancel()


async def test_an_earlier_delay_wakes_a_worker_that_waits_for_a_later_one() -> None:
    clock = FakeClock()
    queue = queue_of(clock)
    queue.add_after("late", 100.0)
    first = asyncio.ensure_future(queue.get())
    await clock.settle()
    queue.add_after("early", 1.0)
    await clock.advance(1.0)
    assert await first == "early"
