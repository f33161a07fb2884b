"""The watch cache over a real store in memory, with a shim that can break the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from storage import cache as cache_module
from storage.cache import Change, Phase, Subscription, WatchCache
from storage.errors import Expired, FutureRevision, Unavailable
from storage.interface import Batch, Compare, Delete, KeyValue, Op, Page, Put, Read, Store, Txn, Watch
from storage.sqlite.store import SQLiteStore

ROOT = b"/r/"
JOBS = b"/r/g/jobs/"
NODES = b"/r/g/nodes/"


def bucket(key: bytes) -> bytes:
    return b"/".join(key.split(b"/")[:4]) + b"/"


def view(item: KeyValue) -> bytes:
    if item.value == b"bad":
        raise ValueError("bad value")
    return item.value


class Shim:
    """A store whose connection can be cut, frozen or led to another store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.down = False
        self.mute = False
        self.revisions = 0
        self.watches = 0
        self.cut = asyncio.Event()

    def _check(self) -> None:
        if self.down:
            raise Unavailable("cut")

    async def get(self, key: bytes, *, revision: int = 0) -> Read:
        self._check()
        return await self.store.get(key, revision=revision)

    async def list(self, prefix: bytes, *, start: bytes = b"", limit: int = 0, revision: int = 0) -> Page:
        self._check()
        return await self.store.list(prefix, start=start, limit=limit, revision=revision)

    async def txn(self, compares: Sequence[Compare], ops: Sequence[Op]) -> Txn:
        return await self.store.txn(compares, ops)

    async def revision(self) -> int:
        self._check()
        self.revisions += 1
        return await self.store.revision()

    async def compact(self, revision: int) -> None:
        await self.store.compact(revision)

    async def close(self) -> None:
        await self.store.close()

    @asynccontextmanager
    async def watch(self, prefix: bytes, start_revision: int) -> AsyncIterator[Watch]:
        self._check()
        self.watches += 1
        async with self.store.watch(prefix, start_revision) as inner:
            yield ShimWatch(self, inner)

    def break_watches(self) -> None:
        self.cut.set()
        self.cut = asyncio.Event()


class ShimWatch:
    def __init__(self, shim: Shim, inner: Watch) -> None:
        self.shim = shim
        self.inner = inner
        self.cut = shim.cut

    async def __aiter__(self) -> AsyncIterator[Batch]:
        batches = aiter(self.inner)
        cut = asyncio.ensure_future(self.cut.wait())
        step = None
        try:
            while True:
                step = asyncio.ensure_future(anext(batches))
                await asyncio.wait({step, cut}, return_when=asyncio.FIRST_COMPLETED)
                if cut.done():
                    raise Unavailable("cut")
                batch = await step
                if not self.shim.mute:
                    yield batch
        finally:
            cut.cancel()
            if step is not None:
                step.cancel()
                await asyncio.gather(step, return_exceptions=True)

    async def request_progress(self) -> None:
        await self.inner.request_progress()


@pytest.fixture
async def shim(memory: SQLiteStore) -> Shim:
    return Shim(memory)


async def soon(_: float) -> None:
    await asyncio.sleep(0.001)


def make(shim: Shim, **options: object) -> WatchCache[bytes]:
    return WatchCache(shim, ROOT, view, bucket=bucket, sleep=soon, **options)  # type: ignore[arg-type]


@asynccontextmanager
async def running(cache: WatchCache[bytes]) -> AsyncIterator[WatchCache[bytes]]:
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        await cache.wait_ready()
        yield cache
        task.cancel()


async def put(store: Store | Shim, *keys: bytes, value: bytes = b"v") -> int:
    return (await store.txn([], [Put(key, value) for key in keys])).revision


async def delete(store: Store | Shim, key: bytes) -> int:
    return (await store.txn([], [Delete(key)])).revision


async def read_until(watch: Subscription[bytes], revision: int) -> list[Change[bytes]]:
    changes: list[Change[bytes]] = []
    while watch.revision < revision:
        changes += (await watch.next(5))[1]
    return changes


def told(changes: list[Change[bytes]]) -> list[tuple[int, bytes, bytes | None, bytes | None]]:
    return [
        (
            change.revision,
            change.key,
            change.current.view if change.current else None,
            change.previous.view if change.previous else None,
        )
        for change in changes
    ]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


async def test_it_starts_with_what_is_stored_and_follows(shim: Shim) -> None:
    await put(shim, JOBS + b"b/1", JOBS + b"a/2", NODES + b"n")
    async with running(make(shim)) as cache:
        revision = await put(shim, JOBS + b"a/1", value=b"new")
        assert await cache.fresh(5) == revision == cache.revision
        assert [entry.key for entry in cache.entries(JOBS)] == [
            JOBS + b"a/1",
            JOBS + b"a/2",
            JOBS + b"b/1",
        ]
        assert [entry.key for entry in cache.entries(JOBS + b"a/")] == [JOBS + b"a/1", JOBS + b"a/2"]
        assert [entry.key for entry in cache.entries(JOBS, JOBS + b"a/2")] == [JOBS + b"a/2", JOBS + b"b/1"]
        assert [entry.key for entry in cache.entries(JOBS + b"a/1")] == [JOBS + b"a/1"]
        assert (cache.count(JOBS), cache.count(NODES), cache.count(JOBS + b"c/")) == (3, 1, 0)
        entry = cache.get(JOBS + b"a/1")
        assert entry is not None
        assert (entry.value, entry.mod_revision, entry.create_revision) == (b"new", revision, revision)
        await delete(shim, JOBS + b"a/1")
        await cache.fresh(5)
        assert cache.get(JOBS + b"a/1") is None
        assert cache.count(JOBS) == 2


async def test_it_lists_more_than_one_page(shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "PAGE", 7)
    await put(shim, *(JOBS + b"%03d" % number for number in range(50)))
    async with running(make(shim)) as cache:
        assert cache.count(JOBS) == 50


async def test_a_consistent_read_asks_the_store_once_for_all_who_wait(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        before = shim.revisions
        await asyncio.gather(*(cache.fresh(5) for _ in range(200)))
        assert shim.revisions - before <= 2


async def test_a_consistent_read_sees_every_acknowledged_write(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        for number in range(100):
            revision = await put(shim, JOBS + b"a", value=b"%d" % number)
            assert await cache.fresh(5) >= revision
            entry = cache.get(JOBS + b"a")
            assert entry is not None
            assert entry.view == b"%d" % number


async def test_a_consistent_read_does_not_wait_for_a_change_when_only_other_keys_change(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        watch = cache.watch(JOBS, cache.revision)
        revision = await put(shim, b"/elsewhere")
        assert await cache.fresh(5) == revision
        assert watch.revision == revision


async def test_without_the_store_reads_fail_and_the_last_state_stays(shim: Shim) -> None:
    await put(shim, JOBS + b"a")
    phases: list[Phase] = []
    async with running(make(shim, on_phase=lambda phase, _: phases.append(phase))) as cache:
        shim.down = True
        shim.break_watches()
        with pytest.raises(Unavailable):
            await cache.fresh(5)
        assert cache.ready
        assert cache.get(JOBS + b"a") is not None
        await until(lambda: Phase.WAITING in phases)
        revision = await put(shim, JOBS + b"b")
        shim.down = False
        assert await cache.fresh(5) == revision
        assert cache.get(JOBS + b"b") is not None
        assert cache.phase is Phase.WATCHING
        assert cache.relists == 0


async def test_waiting_for_a_revision_ends_when_it_comes_or_the_time_is_over(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        with pytest.raises(FutureRevision):
            await cache.wait_for(cache.revision + 100, 0.05)
        async with asyncio.TaskGroup() as group:
            group.create_task(cache.wait_for(cache.revision + 2, 5))
            await put(shim, JOBS + b"a")
            await put(shim, JOBS + b"a")
        await cache.wait_for(1, 0)


async def test_a_watch_brings_what_came_after_a_revision(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        start = cache.revision
        first = await put(shim, JOBS + b"x/a", value=b"1")
        second = await put(shim, JOBS + b"y/a", value=b"1")
        third = await put(shim, JOBS + b"x/a", value=b"2")
        fourth = await delete(shim, JOBS + b"x/a")
        await put(shim, NODES + b"n")
        last = await cache.fresh(5)
        assert told(await read_until(cache.watch(JOBS, start), last)) == [
            (first, JOBS + b"x/a", b"1", None),
            (second, JOBS + b"y/a", b"1", None),
            (third, JOBS + b"x/a", b"2", b"1"),
            (fourth, JOBS + b"x/a", None, b"2"),
        ]
        narrow = await read_until(cache.watch(JOBS + b"x/", first), last)
        assert [change.revision for change in narrow] == [third, fourth]
        one = await read_until(cache.watch(JOBS + b"y/a", start), last)
        assert [change.revision for change in one] == [second]


async def test_a_watch_from_a_later_revision_skips_what_comes_before_it(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        watch = cache.watch(JOBS, cache.revision + 2)
        for _ in range(3):
            last = await put(shim, JOBS + b"a")
        changes = await read_until(watch, last)
        assert [change.revision for change in changes] == [last]


async def test_a_transaction_is_seen_whole(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        watch = cache.watch(JOBS, cache.revision)
        await put(shim, JOBS + b"a", JOBS + b"b", NODES + b"n")
        _, changes = await watch.next(5)
        assert [change.key for change in changes] == [JOBS + b"a", JOBS + b"b"]
        assert cache.get(NODES + b"n") is not None


async def test_watchers_share_changes_so_that_encodings_are_made_once(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        watches = [cache.watch(JOBS, cache.revision) for _ in range(2)]
        await put(shim, JOBS + b"a")
        one, two = [(await watch.next(5))[1][0] for watch in watches]
        assert one is two
        one.memo["json"] = b"{}"
        assert two.memo == {"json": b"{}"}


async def test_a_quiet_watch_times_out_with_the_revision_reached(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        watch = cache.watch(JOBS, cache.revision)
        await put(shim, NODES + b"n")
        last = await cache.fresh(5)
        assert await watch.next(0.01) == (last, [])


async def test_iteration_brings_only_batches_with_changes(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        watch = cache.watch(JOBS, cache.revision)
        await put(shim, JOBS + b"a")
        async for revision, changes in watch:
            assert [change.key for change in changes] == [JOBS + b"a"]
            assert revision == cache.revision
            break


async def test_idle_watches_are_woken_only_by_their_own_keys(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        looks = 0

        class Counting(Subscription[bytes]):
            def _take(self) -> list[Change[bytes]]:
                nonlocal looks
                looks += 1
                return super()._take()

        scopes = [NODES, JOBS + b"other/", JOBS + b"ml/b", JOBS + b"ml/", JOBS, JOBS + b"ml/a"]
        watches = [cache.watch(scope, cache.revision) for scope in scopes]
        for watch in watches:
            watch.__class__ = Counting
        tasks = [asyncio.create_task(watch.next(10)) for watch in watches]
        await until(lambda: looks == len(tasks))
        await put(shim, JOBS + b"ml/a")
        await asyncio.gather(*tasks[3:])
        assert looks == len(tasks) + 3
        assert [task.done() for task in tasks] == [False, False, False, True, True, True]
        for task in tasks[:3]:
            task.cancel()
        await asyncio.gather(*tasks[:3], return_exceptions=True)


async def test_a_reader_slower_than_the_window_is_cut_and_others_are_not(shim: Shim) -> None:
    async with running(make(shim, window=10)) as cache:
        start = cache.revision
        slow, quick, other = cache.watch(JOBS, start), cache.watch(JOBS, start), cache.watch(NODES, start)
        for _ in range(30):
            last = await put(shim, JOBS + b"a")
            await cache.fresh(5)
            assert len((await quick.next(5))[1]) == 1
        with pytest.raises(Expired):
            await slow.next(5)
        with pytest.raises(Expired):
            cache.watch(JOBS, last - 11)
        assert len(await read_until(cache.watch(JOBS, last - 10), last)) == 10
        assert await other.next(0) == (last, [])


async def test_a_quiet_watch_outlives_any_traffic_of_others(shim: Shim) -> None:
    async with running(make(shim, window=4)) as cache, asyncio.TaskGroup() as group:
        quiet = cache.watch(JOBS + b"quiet/", cache.revision)
        waiting = group.create_task(quiet.next(10))
        for number in range(20):
            await put(shim, JOBS + b"busy/%d" % number)
        mine = await put(shim, JOBS + b"quiet/a")
        _, changes = await waiting
        assert [change.revision for change in changes] == [mine]


async def test_a_quiet_watch_that_times_out_can_go_on_after_any_traffic_of_others(shim: Shim) -> None:
    async with running(make(shim, window=4)) as cache, asyncio.TaskGroup() as group:
        quiet = cache.watch(JOBS + b"quiet/", cache.revision)
        waiting = group.create_task(quiet.next(0.05))
        last = 0
        for number in range(20):
            last = await put(shim, JOBS + b"busy/%d" % number)
        await cache.wait_for(last, 5)
        revision, changes = await waiting
        assert (revision, changes) == (last, [])
        mine = await put(shim, JOBS + b"quiet/a")
        _, changes = await quiet.next(10)
        assert [change.revision for change in changes] == [mine]


async def test_the_window_is_bounded_in_bytes_too(shim: Shim) -> None:
    async with running(make(shim, window_bytes=10_000)) as cache:
        start = cache.revision
        for _ in range(20):
            await put(shim, JOBS + b"a", value=bytes(1000))
        last = await cache.fresh(5)
        with pytest.raises(Expired):
            cache.watch(JOBS, start)
        assert len(await read_until(cache.watch(JOBS, last - 4), last)) == 4


async def test_a_watch_from_before_the_start_is_refused(shim: Shim) -> None:
    await put(shim, JOBS + b"a")
    revision = await put(shim, NODES + b"a")
    async with running(make(shim)) as cache:
        for scope in (JOBS, NODES, b"/r/g/unknown/"):
            with pytest.raises(Expired):
                cache.watch(scope, revision - 1)
            cache.watch(scope, revision)


async def test_a_watch_goes_on_over_a_restart_as_far_as_history_reaches(shim: Shim) -> None:
    written = [await put(shim, JOBS + name) for name in (b"a", b"b", b"c")]
    deleted = (await shim.txn((), [Delete(JOBS + b"a")])).revision
    async with running(make(shim, history=100)) as cache:
        changes = await read_until(cache.watch(JOBS, written[0]), deleted)
        assert [change.revision for change in changes] == [*written[1:], deleted]
        assert changes[-1].previous is not None
        assert [entry.key for entry in cache.entries(JOBS)] == [JOBS + b"b", JOBS + b"c"]


async def test_compacted_history_is_not_missed_at_the_start(shim: Shim) -> None:
    written = [await put(shim, JOBS + name) for name in (b"a", b"b", b"c")]
    await shim.compact(written[1])
    async with running(make(shim, history=100)) as cache:
        with pytest.raises(Expired):
            cache.watch(JOBS, written[0])
        changes = await read_until(cache.watch(JOBS, written[1]), written[2])
        assert [change.revision for change in changes] == written[2:]
        assert len(cache.entries(JOBS)) == 3


async def test_a_broken_connection_neither_loses_nor_repeats_a_change(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        watch = cache.watch(JOBS, cache.revision)
        written = []
        for number in range(100):
            written.append(await put(shim, JOBS + b"a"))
            if number % 7 == 0:
                shim.break_watches()
                await asyncio.sleep(0)
        changes = await read_until(watch, written[-1])
        assert [change.revision for change in changes] == written
        assert shim.watches > 3
        assert cache.relists == 0


async def test_after_lost_history_the_difference_is_told(shim: Shim) -> None:
    a, b, c, d, e = (JOBS + name for name in (b"a", b"b", b"c", b"d", b"e"))
    await put(shim, a, b, c, d)
    async with running(make(shim)) as cache:
        before = cache.revision
        watch = cache.watch(JOBS, before)
        shim.down = True
        shim.break_watches()
        await put(shim, a, value=b"lost")
        changed = await put(shim, a, value=b"2")
        await delete(shim, b)
        gone = await delete(shim, c)
        again = await put(shim, c, value=b"3")
        new = await put(shim, e, value=b"4")
        inside = new - 1
        await shim.compact(new)
        shim.down = False
        await cache.fresh(5)
        assert cache.relists == 1
        assert told(await read_until(watch, new)) == [
            (changed, a, b"2", b"v"),
            (gone, c, None, b"v"),
            (again, c, b"3", None),
            (new, e, b"4", None),
            (new, b, None, b"v"),
        ]
        assert [entry.view for entry in cache.entries(JOBS)] == [b"2", b"3", b"v", b"4"]
        with pytest.raises(Expired):
            cache.watch(JOBS, inside)
        assert len(await read_until(cache.watch(JOBS, before), new)) == 5
        after = cache.watch(JOBS, new)
        last = await put(shim, d)
        assert [change.revision for change in await read_until(after, last)] == [last]


async def test_an_object_that_cannot_be_viewed_is_kept_out_and_the_rest_goes_on(shim: Shim) -> None:
    refused: list[bytes] = []
    await put(shim, JOBS + b"a", value=b"bad")
    await put(shim, JOBS + b"b")
    async with running(make(shim, on_reject=lambda key, _: refused.append(key))) as cache:
        watch = cache.watch(JOBS, cache.revision)
        assert (cache.rejected, refused) == (1, [JOBS + b"a"])
        assert [entry.key for entry in cache.entries(JOBS)] == [JOBS + b"b"]
        first = await put(shim, JOBS + b"a", value=b"good")
        second = await put(shim, JOBS + b"b", value=b"bad")
        await delete(shim, JOBS + b"b")
        third = await put(shim, JOBS + b"b", value=b"good")
        changes = await read_until(watch, third)
        assert cache.rejected == 0
        assert told(changes) == [
            (first, JOBS + b"a", b"good", None),
            (second, JOBS + b"b", None, b"v"),
            (third, JOBS + b"b", b"good", None),
        ]


async def test_a_store_that_went_back_in_time_starts_the_cache_anew(shim: Shim, memory: SQLiteStore) -> None:
    for _ in range(10):
        await put(shim, JOBS + b"old")
    restored = await SQLiteStore.open(None)
    await put(restored, JOBS + b"new")
    async with running(make(shim)) as cache:
        watch = cache.watch(JOBS, cache.revision)
        shim.store = restored
        shim.break_watches()
        with pytest.raises(Unavailable):
            await cache.fresh(5)
        assert not cache.ready
        await cache.wait_ready()
        assert [entry.key for entry in cache.entries(JOBS)] == [JOBS + b"new"]
        with pytest.raises(Expired):
            await watch.next(0)
    await restored.close()


async def test_a_watch_that_has_gone_silent_is_opened_anew(shim: Shim) -> None:
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        await asyncio.sleep(0)

    cache = WatchCache(shim, ROOT, view, bucket=bucket, sleep=sleep, clock=lambda: now)
    async with running(cache):
        await until(lambda: shim.watches == 1)
        shim.mute = True
        await put(shim, JOBS + b"a")
        async with asyncio.TaskGroup() as group:
            reader = group.create_task(cache.fresh(15))
            await until(lambda: shim.watches == 2)
            shim.mute = False
            shim.break_watches()
        assert reader.result() == cache.revision
        assert now > cache_module.STALL


async def test_thousands_of_idle_watches_cost_a_change_nothing(shim: Shim) -> None:
    async with running(make(shim)) as cache:
        idle = [cache.watch(JOBS + b"ns-%d/" % number, cache.revision) for number in range(3000)]
        tasks = [asyncio.create_task(watch.next(60)) for watch in idle]
        await asyncio.sleep(0)
        watch = cache.watch(JOBS + b"ml/", cache.revision)
        for _ in range(100):
            last = await put(shim, JOBS + b"ml/a")
        assert len(await read_until(watch, last)) == 100
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
