"""Compaction in turns."""

from __future__ import annotations

import asyncio

import pytest

from storage.compactor import Compactor
from storage.errors import Compacted, StorageError, Unavailable
from storage.interface import Put, Store
from storage.sqlite.store import SQLiteStore


async def write(store: Store, key: bytes) -> int:
    return (await store.txn([], [Put(key, b"v")])).revision


async def test_history_is_kept_for_one_round(store: Store, prefix: bytes) -> None:
    compactor = Compactor(store, key=prefix + b"compact")
    old = await write(store, prefix + b"a")
    assert await compactor.round() == 0
    kept = await write(store, prefix + b"a")
    assert old < await compactor.round() < kept
    assert (await store.get(prefix + b"a", revision=kept)).item is not None
    with pytest.raises(Compacted):
        await store.get(prefix + b"a", revision=old)


async def test_of_several_replicas_one_compacts_in_each_round(store: Store, prefix: bytes) -> None:
    replicas = [Compactor(store, key=prefix + b"compact") for _ in range(3)]
    done: list[int] = []
    for _ in range(6):
        await write(store, prefix + b"a")
        compacted = await asyncio.gather(*(replica.round() for replica in replicas))
        assert sum(revision > 0 for revision in compacted) <= 1
        done.append(max(compacted))
    assert done[2:] == sorted(set(done[2:]))
    assert all(done[2:])


async def test_a_new_replica_takes_part_without_compacting_at_once(memory: SQLiteStore) -> None:
    first = Compactor(memory)
    await first.round()
    second = Compactor(memory)
    kept = await write(memory, b"/a")
    assert await second.round() == 0
    assert await second.round() >= kept


async def test_it_compacts_at_every_interval_and_outlives_failures() -> None:
    store = await SQLiteStore.open(None)
    rounds: list[tuple[int, StorageError | None]] = []
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 4:
            await store.close()
        if len(naps) == 6:
            raise asyncio.CancelledError

    compactor = Compactor(
        store, interval=7, sleep=sleep, on_round=lambda revision, error: rounds.append((revision, error))
    )
    with pytest.raises(asyncio.CancelledError):
        await compactor.run()
    assert naps == [7] * 6
    assert [revision for revision, _ in rounds[:3]] == [0, 2, 3]
    assert [type(error) for _, error in rounds] == [type(None)] * 3 + [Unavailable] * 2
