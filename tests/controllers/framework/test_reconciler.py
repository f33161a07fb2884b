"""The runner: what becomes of a key after each kind of end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from apiserver.controllers.clock import FakeClock
from apiserver.controllers.conditions import find, is_true, with_condition, without
from apiserver.controllers.reconciler import DONE, Result, Runner, TerminalError
from apiserver.controllers.registry import Controller, Shared, enabled, selected
from apiserver.controllers.workqueue import WorkQueue
from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource


def runner_of(
    reconcile: Callable[[str], Awaitable[Result]], **more: float
) -> tuple[Runner, WorkQueue, FakeClock]:
    clock = FakeClock()
    queue = WorkQueue("test", clock, base_seconds=1.0, uniform=lambda: 0.0)
    return Runner("test", reconcile, queue, clock, **more), queue, clock  # type: ignore[arg-type]


async def failing(error: Exception) -> Result:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        errors.conflict(GroupResource("", "pods"), "a", errors.STALE),
        errors.unavailable("starting"),
        ConnectionError("refused"),
        TimeoutError(),
        ValueError("a fault of ours"),
    ],
)
async def test_a_failure_comes_again_after_its_backoff(error: Exception) -> None:
    runner, queue, clock = runner_of(lambda key: failing(error))
    await runner.process("a")
    assert queue.failures("a") == 1
    waiting = asyncio.ensure_future(queue.get())
    await clock.advance(1.0)
    assert await waiting == "a"


async def test_a_terminal_failure_does_not_come_again() -> None:
    runner, queue, clock = runner_of(lambda key: failing(TerminalError("InvalidPod", "no")))
    await runner.process("a")
    waiting = asyncio.ensure_future(queue.get())
    await clock.advance(3600)
    assert not waiting.done()
    waiting.cancel()


async def test_success_forgets_failures_and_a_wish_to_come_again_is_kept() -> None:
    results = [Result(requeue_after=30.0), DONE]

    async def reconcile(key: str) -> Result:
        return results.pop(0)

    runner, queue, clock = runner_of(reconcile)
    queue.add_failed("a")
    await clock.advance(1)
    assert await queue.get() == "a"
    await runner.process("a")
    queue.done("a")
    assert queue.failures("a") == 0
    waiting = asyncio.ensure_future(queue.get())
    await clock.advance(30)
    assert await waiting == "a"


async def test_a_reconciliation_that_hangs_is_cut_off_and_tried_again() -> None:
    async def stuck(key: str) -> Result:
        await asyncio.Event().wait()
        return DONE

    runner, queue, _ = runner_of(stuck, seconds=0.01)
    await runner.process("a")
    assert queue.failures("a") == 1


async def test_workers_take_different_keys_side_by_side() -> None:
    busy: set[str] = set()
    most = 0
    release = asyncio.Event()

    async def reconcile(key: str) -> Result:
        nonlocal most
        assert key not in busy
        busy.add(key)
        most = max(most, len(busy))
        await release.wait()
        busy.discard(key)
        return DONE

    runner, queue, clock = runner_of(reconcile, workers=3)
    for key in "abcde":
        queue.add(key)
    task = asyncio.ensure_future(runner.run())
    await clock.settle()
    queue.add("a")
    release.set()
    await clock.settle()
    assert most == 3
    assert len(queue) == 0
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_condition_moves_its_time_only_when_its_status_flips() -> None:
    first = with_condition(None, "Ready", "False", "Starting", "1", generation=1, now="t1")
    second = with_condition(first, "Ready", "False", "Starting", "2", generation=2, now="t2")
    third = with_condition(second, "Ready", "True", "AllReady", "", generation=2, now="t3")
    assert [find(each, "Ready")["lastTransitionTime"] for each in (first, second, third)] == [
        "t1",
        "t1",
        "t3",
    ]  # type: ignore[index]
    assert find(second, "Ready")["observedGeneration"] == 2  # type: ignore[index]
    assert len(third) == 1
    assert is_true(third, "Ready")
    assert not is_true(first, "Ready")
    assert without(third, "Ready") == []
    assert first[0]["message"] == "1", "arguments are never changed"


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (["*"], {"a", "b"}),
        ([], set()),
        (["a"], {"a"}),
        (["*", "-a"], {"b"}),
        (["-a", "*"], {"b"}),
        (["a", "-a"], {"a"}),
        (["-a"], set()),
    ],
)
def test_controllers_are_selected_as_by_kube_controller_manager(
    selection: list[str], expected: set[str]
) -> None:
    assert {name for name in ("a", "b") if enabled(name, selection)} == expected


def test_an_unknown_controller_is_refused_with_the_known_ones() -> None:
    def build(shared: Shared) -> Controller:
        return Controller(runners=[])

    assert selected({"a": build}, ["*"]) == {"a": build}
    with pytest.raises(ValueError, match="'-z' is not in the list of known controllers: a"):
        selected({"a": build}, ["*", "-z"])
