"""etcd killed and started again under writes and watches: nothing acknowledged is lost,
nobody misses or repeats."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator

import pytest

from storage.cache import Subscription, WatchCache
from storage.errors import Ambiguous, NoSpace, StorageError, Unavailable
from storage.etcd.client import EtcdStore
from storage.etcd.options import EtcdOptions
from storage.interface import Compare, Delete, KeyValue, Put, Store

pytestmark = pytest.mark.etcd
PREFIX = b"/r/"
JOBS = b"/r/g/jobs/"


def bucket(key: bytes) -> bytes:
    return b"/".join(key.split(b"/")[:4]) + b"/"


def make_cache(store: Store) -> WatchCache[bytes]:
    return WatchCache(store, PREFIX, lambda item: item.value, bucket=bucket)


@pytest.fixture
async def durable(etcd_own) -> AsyncIterator[EtcdStore]:  # type: ignore[no-untyped-def]
    store = await EtcdStore.open(EtcdOptions(endpoints=(etcd_own.endpoint,), timeout=3))
    yield store
    await store.close()


class Counter:
    """Counts up in one key, each time comparing what it saw; an unknown outcome is resolved by reading."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.key = JOBS + name.encode()
        self.number = 0
        self.revision = 0
        self.acknowledged = 0
        self.unknown = 0

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                await self.step()
            except StorageError:
                await asyncio.sleep(0.02)

    async def step(self) -> None:
        target = self.number + 1
        try:
            outcome = await self.store.txn(
                [Compare(self.key, self.revision)], [Put(self.key, b"%d" % target)]
            )
        except Ambiguous:
            self.unknown += 1
            await self.read_back(target)
            return
        assert outcome.succeeded, "nobody else writes this key"
        self.number, self.revision, self.acknowledged = target, outcome.revision, target

    async def read_back(self, target: int) -> None:
        # Only once the store answers again is it known what has become of the write.
        while True:
            try:
                item = (await self.store.get(self.key)).item
            except StorageError:
                await asyncio.sleep(0.02)
                continue
            stored = int(item.value) if item else 0
            assert stored in (target, target - 1), "an acknowledged write was lost, or one was done twice"
            self.number, self.revision = stored, item.mod_revision if item else 0
            return


class Follower:
    """Follows a subscription and checks that each key counts up by one at a time."""

    def __init__(self, watch: Subscription[bytes]) -> None:
        self.watch = watch
        self.numbers: dict[bytes, int] = defaultdict(int)

    async def run(self) -> None:
        last = 0
        while True:
            _, changes = await self.watch.next(60)
            for change in changes:
                assert change.revision >= last
                last = change.revision
                assert change.current is not None
                number = int(change.current.value)
                assert number == self.numbers[change.key] + 1, "a change was missed or repeated"
                self.numbers[change.key] = number


async def test_kill_9_under_writes_and_watches_loses_and_repeats_nothing(durable, etcd_own) -> None:  # type: ignore[no-untyped-def]
    cache = make_cache(durable)
    counters = [Counter(durable, f"ns/{number}") for number in range(6)]
    stop = asyncio.Event()
    async with asyncio.timeout(90), asyncio.TaskGroup() as group:
        running = group.create_task(cache.run())
        await cache.wait_ready()
        followers = [Follower(cache.watch(JOBS, cache.revision)) for _ in range(50)]
        following = [group.create_task(follower.run()) for follower in followers]
        async with asyncio.TaskGroup() as writers:
            for counter in counters:
                writers.create_task(counter.run(stop))
            for _ in range(4):
                await asyncio.sleep(0.4)
                etcd_own.kill()
                with pytest.raises(StorageError):
                    await cache.fresh(3)
                await asyncio.sleep(0.2)
                await asyncio.to_thread(etcd_own.start)
                before = time.monotonic()
                await until_fresh(cache)
                assert time.monotonic() - before < 10
            stop.set()
        await cache.fresh(10)
        page = await durable.list(JOBS)
        for counter in counters:
            assert counter.number >= counter.acknowledged > 0
        assert {item.key: int(item.value) for item in page.items} == {
            counter.key: counter.number for counter in counters
        }
        stored = [KeyValue(e.key, e.value, e.create_revision, e.mod_revision) for e in cache.entries(JOBS)]
        assert tuple(stored) == page.items
        for follower in followers:
            while follower.numbers != {counter.key: counter.number for counter in counters}:
                await asyncio.sleep(0.01)
        assert cache.relists == 0
        for task in (running, *following):
            task.cancel()


async def until_fresh(cache: WatchCache[bytes]) -> None:
    while True:
        try:
            await cache.fresh(5)
        except StorageError:
            await asyncio.sleep(0.02)
        else:
            return


def freeze(pid: int) -> None:
    """Stop a child process and wait until it stands still."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)


async def test_a_frozen_etcd_gives_errors_in_time_and_heals(durable, etcd_own) -> None:  # type: ignore[no-untyped-def]
    cache = make_cache(durable)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(cache.run())
        await cache.wait_ready()
        watch = cache.watch(JOBS, cache.revision)
        freeze(etcd_own.process.pid)
        try:
            before = time.monotonic()
            with pytest.raises(Unavailable):
                await cache.fresh(1)
            with pytest.raises(Ambiguous):
                await durable.txn([], [Put(JOBS + b"a", b"1")])
            with pytest.raises(Unavailable):
                await durable.get(JOBS + b"a")
            assert time.monotonic() - before < 10
        finally:
            os.kill(etcd_own.process.pid, signal.SIGCONT)
        await until_fresh(cache)
        await durable.txn([], [Put(JOBS + b"b", b"1")])
        await until_fresh(cache)
        assert watch.revision <= cache.revision
        assert (await watch.next(5))[1]
        running.cancel()


async def test_a_write_to_a_stopped_etcd_is_known_not_to_have_been_done(durable, etcd_own) -> None:  # type: ignore[no-untyped-def]
    await durable.revision()
    etcd_own.kill()
    with pytest.raises(StorageError):
        await durable.revision()
    with pytest.raises(Unavailable):
        await durable.txn([], [Put(JOBS + b"a", b"1")])


async def test_another_endpoint_takes_over_when_one_is_down(etcd_newest, prefix) -> None:  # type: ignore[no-untyped-def]
    store = await EtcdStore.open(EtcdOptions(endpoints=("http://127.0.0.1:9", etcd_newest.endpoint)))
    outcome = await store.txn([], [Put(prefix + b"a", b"1")])
    async with store.watch(prefix, outcome.revision) as watch:
        async for batch in watch:
            assert batch.revision == outcome.revision
            break
    await store.close()


async def test_closing_under_a_call_is_an_error_and_no_cancellation(etcd_own) -> None:  # type: ignore[no-untyped-def]
    store = await EtcdStore.open(EtcdOptions(endpoints=(etcd_own.endpoint,)))
    await store.revision()
    freeze(etcd_own.process.pid)
    try:
        reading = asyncio.create_task(store.get(JOBS))
        writing = asyncio.create_task(store.txn([], [Put(JOBS + b"a", b"1")]))
        await asyncio.sleep(0.05)
        await store.close()
        with pytest.raises(Unavailable):
            await reading
        with pytest.raises(Ambiguous):
            await writing
    finally:
        os.kill(etcd_own.process.pid, signal.SIGCONT)


async def test_a_full_etcd_says_so_and_can_be_emptied(start_etcd) -> None:  # type: ignore[no-untyped-def]
    servers = start_etcd(arguments=("--quota-backend-bytes=4194304",))
    store = await EtcdStore.open(EtcdOptions(endpoints=(next(servers).endpoint,)))

    async def fill() -> None:
        # etcd looks at its size on disk, which grows at each commit of its backend.
        for number in range(200):
            await store.txn([], [Put(JOBS + b"%d" % (number % 20), bytes(500_000))])
            await asyncio.sleep(0.02)

    with pytest.raises(NoSpace):
        await fill()
    assert (await store.status()).no_space
    for item in (await store.list(JOBS)).items:
        assert (await store.txn([], [Delete(item.key)])).succeeded
    await store.reclaim_space()
    assert not (await store.status()).no_space
    assert (await store.txn([], [Put(JOBS + b"a", bytes(500_000))])).succeeded
    await store.close()
    servers.close()
