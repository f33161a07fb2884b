"""Waiting is bounded, and tells what it waits for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from deploy.cluster import Client, Cluster
from deploy.errors import DeployError


class FakeTime:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


def cluster(lines: list[str]) -> tuple[Cluster, FakeTime]:
    time = FakeTime()
    nobody = cast(Client, None)
    return Cluster(nobody, lines.append, sleep=time.sleep, monotonic=time.monotonic), time


async def test_a_wait_ends_when_nothing_is_missing() -> None:
    lines: list[str] = []
    waiting, time = cluster(lines)
    answers = iter(["no pods", "no pods", "one pod", ""])

    async def missing() -> str:
        return next(answers)

    await waiting.wait("it", missing, 60)
    assert time.now == 3
    assert lines == ["waiting for it: no pods", "waiting for it: one pod"]


async def test_a_wait_that_takes_too_long_ends_with_the_last_reason() -> None:
    lines: list[Any] = []
    waiting, time = cluster(lines)

    async def missing() -> str:
        return "no pods"

    with pytest.raises(DeployError, match="waited 30 s for it: no pods"):
        await waiting.wait("it", missing, 30)
    assert time.now == 30
    assert len(lines) == 3
