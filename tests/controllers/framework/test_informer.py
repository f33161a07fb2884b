"""The informer: a picture that is complete, follows every change, and survives what servers do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fakecluster import MemoryHost, MemoryObjects, MemoryStore
from hypothesis import given
from hypothesis import strategies as st

from apiserver.controllers.clients import ListWatch
from apiserver.controllers.clock import FakeClock
from apiserver.controllers.informer import Informer, State
from apiserver.controllers.listwatch import HostListWatch, ObjectsListWatch
from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource

Object = dict[str, Any]
Told = list[tuple[str, str]]


class Bench:
    """A store, an informer over it, and what its handler was told."""

    def __init__(self, kind: str = "objects") -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.host = MemoryHost(self.store)
        source: ListWatch = (
            HostListWatch(self.host, "/api/v1/pods")
            if kind == "host"
            else ObjectsListWatch(MemoryObjects(self.store), "pods")
        )
        self.informer = Informer(source, self.clock, uniform=lambda: 0.0)
        self.told: Told = []
        self.informer.add_handler(self._handle)

    def _handle(self, old: Object | None, new: Object | None) -> None:
        what = "add" if old is None else "delete" if new is None else "update"
        self.told.append((what, (new or old or {})["metadata"]["name"]))

    def put(self, name: str, **fields: Any) -> Object:
        key = ("pods", "ns", name)
        if key in self.store.objects:
            return self.store.put(key, {**self.store.get(key), **fields})
        return self.store.create(key, {"metadata": {"name": name, "namespace": "ns"}, **fields})

    def remove(self, name: str) -> None:
        self.store.remove(("pods", "ns", name))

    def seen(self) -> dict[str, str]:
        return {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in self.informer.store}

    def real(self) -> dict[str, str]:
        return {
            obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in self.store.list("pods")
        }

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self.informer.run())
        try:
            await self.clock.advance(0.1)
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("kind", ["host", "objects"])
async def test_the_same_informer_follows_the_host_and_our_own_objects(kind: str) -> None:
    bench = Bench(kind)
    bench.put("a")
    async with bench.running():
        assert bench.informer.synced
        assert bench.informer.state is State.WATCHING
        bench.put("b")
        bench.put("a", x=1)
        bench.remove("b")
        await bench.clock.settle()
        assert bench.told == [("add", "a"), ("add", "b"), ("update", "a"), ("delete", "b")]
        assert bench.seen() == bench.real()


async def test_an_expired_revision_is_answered_by_a_new_list_that_tells_only_differences() -> None:
    bench = Bench()
    for name in "abc":
        bench.put(name)
    async with bench.running():
        bench.told.clear()

        class Cut:
            """The store forgets its history while the watch is broken."""

        original = bench.store.watch

        async def gone(resource: str, after: int) -> AsyncIterator[Object]:
            raise errors.expired("too old")
            yield {}

        bench.store.watch = gone  # type: ignore[method-assign]
        bench.store.end_watches()
        bench.put("a", x=1)
        bench.remove("b")
        bench.put("d")
        await bench.clock.settle()
        bench.store.watch = original  # type: ignore[method-assign]
        await bench.clock.advance(5)
        assert sorted(bench.told) == [("add", "d"), ("delete", "b"), ("update", "a")]
        assert bench.seen() == bench.real()


async def test_a_watch_that_ends_goes_on_from_the_last_revision_without_a_list() -> None:
    bench = Bench("host")
    bench.put("a")
    async with bench.running():
        await bench.clock.advance(100)
        bench.store.end_watches()
        bench.put("b")
        await bench.clock.advance(5)
        assert bench.seen() == bench.real()
        assert sum(call == ("GET", "/api/v1/pods") for call in bench.host.calls) == 1


async def test_a_broken_server_is_asked_less_and_less_often() -> None:
    bench = Bench("host")

    def down(method: str, path: str) -> None:
        raise ConnectionError("refused")

    bench.host.before = down
    async with bench.running():
        await bench.clock.advance(300)
        assert 8 <= len(bench.host.calls) <= 60
        assert bench.informer.state is State.WAITING
        assert bench.informer.fault == "refused"
        bench.host.before = lambda *_: None
        await bench.clock.advance(40)
        assert bench.informer.synced
        assert bench.informer.fault == ""


async def test_missing_permission_shows() -> None:
    bench = Bench("host")

    def deny(method: str, path: str) -> None:
        raise errors.forbidden(GroupResource("", "pods"), "", "no")

    bench.host.before = deny
    async with bench.running():
        assert bench.informer.denied
        assert not bench.informer.synced


async def test_an_object_made_again_under_its_name_is_a_deletion_and_an_addition() -> None:
    bench = Bench()
    bench.put("a")
    async with bench.running():
        bench.told.clear()
        original = bench.store.watch

        async def gone(resource: str, after: int) -> AsyncIterator[Object]:
            raise errors.expired("too old")
            yield {}

        bench.store.watch = gone  # type: ignore[method-assign]
        bench.store.end_watches()
        bench.remove("a")
        bench.put("a")
        await bench.clock.settle()
        bench.store.watch = original  # type: ignore[method-assign]
        await bench.clock.advance(5)
        assert bench.told == [("delete", "a"), ("add", "a")]


async def test_our_own_write_is_seen_at_once_and_told_once() -> None:
    bench = Bench()
    async with bench.running():
        obj = bench.put("a")
        bench.informer.record(obj)
        assert "ns/a" in bench.informer.store
        await bench.clock.settle()
        assert bench.told == [("add", "a")]


async def test_an_old_write_does_not_bring_back_what_was_deleted() -> None:
    bench = Bench()
    async with bench.running():
        obj = bench.put("a")
        bench.remove("a")
        await bench.clock.settle()
        bench.informer.record(obj)
        assert "ns/a" not in bench.informer.store


async def test_a_recorded_deletion_holds_against_older_news() -> None:
    bench = Bench()
    obj = bench.put("a")
    async with bench.running():
        bench.put("a", x=1)
        bench.informer.record_deletion(obj)
        await bench.clock.settle()
        assert "ns/a" not in bench.informer.store
        bench.remove("a")
        bench.put("a")
        await bench.clock.settle()
        assert bench.seen() == bench.real()


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["put", "put", "remove", "cut", "compact"])))
)
async def test_whatever_happens_the_picture_ends_up_as_the_store(steps: list[tuple[str, str]]) -> None:
    bench = Bench()
    async with bench.running():
        for name, what in steps:
            if what == "put":
                obj = bench.put(name, n=name)
                if len(steps) % 2:
                    bench.informer.record(obj)
            elif what == "remove" and ("pods", "ns", name) in bench.store.objects:
                bench.remove(name)
            elif what == "cut":
                bench.store.end_watches()
            elif what == "compact":
                bench.store.end_watches()
                bench.store.compact()
        await bench.clock.advance(60)
        assert bench.seen() == bench.real()
        alive: set[str] = set()
        for kind, name in bench.told:
            assert (name in alive) == (kind != "add")
            alive = alive - {name} if kind == "delete" else alive | {name}
        assert alive == set(bench.real())


async def test_late_news_of_an_earlier_object_of_the_name_do_not_hide_the_present_one() -> None:
    bench = Bench()
    bench.put("pod")
    async with bench.running():
        bench.put("pod", status={"phase": "Succeeded"})
        bench.remove("pod")
        fresh = bench.put("pod")
        bench.informer.record(fresh)
        seen: list[Object] = []
        bench.informer.add_handler(lambda _, new: seen.append(new or {}))
        await bench.clock.advance(1)
        assert bench.seen() == bench.real()
        assert not [obj for obj in seen if obj.get("status")], "it is not even told"
