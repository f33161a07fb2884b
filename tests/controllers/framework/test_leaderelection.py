"""Leader election on fake time: one at a time, handed over, never by comparing wall clocks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from fakecluster import MemoryHost, MemoryStore

from apiserver.controllers.clock import FakeClock
from apiserver.controllers.leaderelection import LeaderElector, LeaseOptions

OPTIONS = LeaseOptions("system", "inference")
LEASE = ("leases", "system", "inference")


class Race:
    """Candidates for one lease."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.working: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.hosts: dict[str, MemoryHost] = {}

    def enter(self, name: str, clock: FakeClock | None = None) -> None:
        self.hosts[name] = MemoryHost(self.store)
        elector = LeaderElector(self.hosts[name], OPTIONS, name, clock or self.clock, uniform=lambda: 0.0)

        async def body() -> None:
            self.working.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                self.working.remove(name)

        self.tasks[name] = asyncio.ensure_future(elector.run(body))

    async def leave(self, name: str) -> None:
        self.tasks[name].cancel()
        await asyncio.gather(self.tasks[name], return_exceptions=True)

    def cut_off(self, name: str) -> None:
        def down(method: str, path: str) -> None:
            raise ConnectionError("cut off")

        self.hosts[name].before = down


@pytest.fixture
async def race() -> AsyncIterator[Race]:
    made = Race()
    yield made
    for task in made.tasks.values():
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*made.tasks.values(), return_exceptions=True)


async def test_the_first_leads_and_the_second_waits(race: Race) -> None:
    race.enter("one")
    await race.clock.advance(1)
    race.enter("two")
    await race.clock.advance(60)
    assert race.working == ["one"]
    spec = race.store.get(LEASE)["spec"]
    assert spec["holderIdentity"] == "one"
    assert spec["leaseDurationSeconds"] == 15
    assert spec["leaseTransitions"] == 0


async def test_a_leader_that_stops_gives_the_lease_back_at_once(race: Race) -> None:
    race.enter("one")
    await race.clock.advance(1)
    race.enter("two")
    await race.clock.advance(1)
    await race.leave("one")
    assert race.store.get(LEASE)["spec"]["holderIdentity"] == ""
    await race.clock.advance(3)
    assert race.working == ["two"]
    assert race.store.get(LEASE)["spec"]["leaseTransitions"] == 1


async def test_a_leader_that_is_cut_off_stops_before_the_next_one_starts(race: Race) -> None:
    race.enter("one")
    await race.clock.advance(1)
    race.enter("two")
    await race.clock.advance(5)
    race.cut_off("one")
    for _ in range(60):
        await race.clock.advance(0.5)
        assert len(race.working) <= 1
    assert race.working == ["two"]


async def test_a_candidate_whose_wall_clock_is_wrong_takes_nothing_too_early(race: Race) -> None:
    race.enter("one")
    await race.clock.advance(1)
    wrong = FakeClock(datetime(2031, 1, 1, tzinfo=UTC))
    race.enter("two", wrong)
    for _ in range(60):
        await race.clock.advance(1)
        await wrong.advance(1)
        assert race.working == ["one"]


async def test_the_lead_is_taken_up_again_after_a_loss(race: Race) -> None:
    race.enter("one")
    await race.clock.advance(1)
    race.cut_off("one")
    await race.clock.advance(20)
    assert race.working == []
    race.hosts["one"].before = lambda *_: None
    await race.clock.advance(5)
    assert race.working == ["one"]


async def test_a_failure_of_the_work_is_raised_and_the_lease_given_back(race: Race) -> None:
    elector = LeaderElector(MemoryHost(race.store), OPTIONS, "one", race.clock)

    async def body() -> None:
        raise RuntimeError("broken")

    with pytest.raises(ExceptionGroup) as caught:
        await elector.run(body)
    assert caught.group_contains(RuntimeError, match="broken")
    assert race.store.get(LEASE)["spec"]["holderIdentity"] == ""


def test_times_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="renew_seconds < lease_seconds"):
        LeaseOptions("n", "l", lease_seconds=5, renew_seconds=10)
