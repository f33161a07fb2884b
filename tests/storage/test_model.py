"""The backends against a model: a list of all states there ever were."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from storage.errors import Compacted, FutureRevision
from storage.etcd.client import EtcdStore
from storage.etcd.options import EtcdOptions
from storage.interface import Compare, Delete, Event, KeyValue, Op, Put, Store
from storage.sqlite.store import SQLiteStore

NAMES = st.sampled_from([b"a", b"a/b", b"b", b"c"])
State = dict[bytes, KeyValue]


class StoreMachine(RuleBasedStateMachine):
    """Random calls on a store of which only this machine writes."""

    async def open(self) -> Store:
        return await SQLiteStore.open(None)

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store = self.run(self.open())
        self.prefix = f"/model/{uuid4().hex}/".encode()
        self.states: dict[int, State] = {}
        self.events: list[Event] = []
        self.compacted = 0

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(10):
                return await call

        return self.runner.run(bounded())

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()

    @initialize()
    def begin(self) -> None:
        self.first = self.revision = self.run(self.store.revision())
        self.states[self.revision] = {}

    @property
    def state(self) -> State:
        return self.states[self.revision]

    @rule(
        compares=st.dictionaries(NAMES, st.sampled_from(["right", "absent", "wrong"]), max_size=3),
        ops=st.dictionaries(NAMES, st.one_of(st.none(), st.binary(max_size=4)), max_size=3),
    )
    def txn(self, compares: dict[bytes, str], ops: dict[bytes, bytes | None]) -> None:
        wanted = [self.compare(self.prefix + name, how) for name, how in compares.items()]
        holds = all(compare.mod_revision == self.mod_revision(compare.key) for compare in wanted)
        outcome = self.run(
            self.store.txn(wanted, [self.op(self.prefix + name, value) for name, value in ops.items()])
        )
        assert outcome.succeeded == holds
        if holds:
            self.write({self.prefix + name: value for name, value in ops.items()})
        else:
            assert outcome.current == tuple(self.state.get(compare.key) for compare in wanted)
        assert outcome.revision == self.revision

    def compare(self, key: bytes, how: str) -> Compare:
        present = self.mod_revision(key)
        return Compare(key, {"right": present, "absent": 0, "wrong": present + 1}[how])

    def mod_revision(self, key: bytes) -> int:
        item = self.state.get(key)
        return item.mod_revision if item else 0

    @staticmethod
    def op(key: bytes, value: bytes | None) -> Op:
        return Delete(key) if value is None else Put(key, value)

    def write(self, values: dict[bytes, bytes | None]) -> None:
        revision, state = self.revision + 1, dict(self.state)
        events = []
        for key, value in values.items():
            previous = state.pop(key, None)
            if value is not None:
                created = previous.create_revision if previous else revision
                state[key] = KeyValue(key, value, created, revision)
            if value is not None or previous is not None:
                events.append(Event(revision, key, state.get(key)))
        if events:
            self.revision = revision
            self.states[revision] = state
            self.events += events

    @rule(back=st.integers(0, 6), name=NAMES, limit=st.integers(0, 3))
    def read_an_old_revision(self, back: int, name: bytes, limit: int) -> None:
        revision = max(self.revision - back, self.first)
        start = self.prefix + name
        if revision < self.compacted:
            with pytest.raises(Compacted):
                self.run(self.store.get(start, revision=revision))
            with pytest.raises(Compacted):
                self.run(self.store.list(self.prefix, revision=revision))
            return
        state = self.states[revision]
        assert self.run(self.store.get(start, revision=revision)).item == state.get(start)
        page = self.run(self.store.list(self.prefix, start=start, limit=limit, revision=revision))
        expected = [state[key] for key in sorted(state) if key >= start]
        taken = expected[:limit] if limit else expected
        assert list(page.items) == taken
        assert (page.revision, page.more) == (revision, len(taken) < len(expected))
        assert page.remaining == len(expected) - len(taken)

    @rule()
    def read_the_future(self) -> None:
        with pytest.raises(FutureRevision):
            self.run(self.store.list(self.prefix, revision=self.revision + 1))

    @rule(back=st.integers(0, 6))
    def watch(self, back: int) -> None:
        start = max(self.revision - back, self.first + 1, self.compacted + 1)
        expected = [event for event in self.events if event.revision >= start]
        if expected:
            found = self.run(self.collect(start, len(expected)))
            assert sorted(found, key=order) == sorted(expected, key=order)
            assert [event.revision for event in found] == sorted(event.revision for event in found)

    async def collect(self, start: int, number: int) -> list[Event]:
        found: list[Event] = []
        async with self.store.watch(self.prefix, start) as watch:
            async for batch in watch:
                found += batch.events
                if len(found) >= number:
                    break
        return found

    @rule(back=st.integers(0, 4))
    def compact(self, back: int) -> None:
        revision = max(self.revision - back, self.first)
        self.run(self.store.compact(revision))
        self.compacted = max(self.compacted, revision)

    @invariant()
    def the_present_is_as_in_the_model(self) -> None:
        if not self.states:
            return
        page = self.run(self.store.list(self.prefix))
        assert {item.key: item for item in page.items} == self.state
        assert page.revision == self.run(self.store.revision()) == self.revision


def order(event: Event) -> tuple[int, bytes]:
    return event.revision, event.key


def test_sqlite_behaves_like_the_model() -> None:
    run_state_machine_as_test(
        StoreMachine,
        settings=settings(max_examples=60, stateful_step_count=30, deadline=None, derandomize=True),
    )


@pytest.mark.etcd
def test_etcd_behaves_like_the_model(etcd_newest: Any) -> None:
    class EtcdMachine(StoreMachine):
        async def open(self) -> Store:
            return await EtcdStore.open(EtcdOptions(endpoints=(etcd_newest.endpoint,)))

    run_state_machine_as_test(
        EtcdMachine,
        settings=settings(max_examples=15, stateful_step_count=25, deadline=None, derandomize=True),
    )
