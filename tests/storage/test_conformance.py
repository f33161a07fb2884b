"""What every backend does. A new one is added to the `store` fixture and must pass all of this."""

from __future__ import annotations

import asyncio

import pytest

from storage.errors import Compacted, FutureRevision, StorageError, TooLarge, Unavailable
from storage.interface import Batch, Compare, Delete, Event, KeyValue, Put, Store, Watch


async def put(store: Store, key: bytes, value: bytes = b"v") -> int:
    outcome = await store.txn([], [Put(key, value)])
    assert outcome.succeeded
    return outcome.revision


async def collect(watch: Watch, until: int) -> list[Event]:
    """The events up to a revision."""
    events: list[Event] = []
    async with asyncio.timeout(10):
        async for batch in watch:
            events += batch.events
            if batch.revision >= until:
                break
    return events


async def first_batch(
    store: Store, prefix: bytes, start: int, started: asyncio.Event | None = None
) -> Batch | None:
    async with asyncio.timeout(10), store.watch(prefix, start) as watch:
        if started is not None:
            started.set()
        async for batch in watch:
            return batch
    return None


async def test_a_key_is_created_only_when_it_is_absent(store: Store, prefix: bytes) -> None:
    key = prefix + b"a"
    first = await store.txn([Compare(key, 0)], [Put(key, b"1")])
    second = await store.txn([Compare(key, 0)], [Put(key, b"2")])
    assert first.succeeded
    assert not second.succeeded
    assert second.current == (KeyValue(key, b"1", first.revision, first.revision),)
    assert (await store.get(key)).item == second.current[0]


async def test_an_update_needs_the_revision_that_it_saw(store: Store, prefix: bytes) -> None:
    key = prefix + b"a"
    created = await put(store, key, b"1")
    updated = await store.txn([Compare(key, created)], [Put(key, b"2")])
    stale = await store.txn([Compare(key, created)], [Put(key, b"3")])
    assert updated.succeeded
    assert updated.revision > created
    assert not stale.succeeded
    assert stale.current == (KeyValue(key, b"2", created, updated.revision),)


async def test_a_deletion_needs_the_revision_that_it_saw(store: Store, prefix: bytes) -> None:
    key = prefix + b"a"
    created = await put(store, key)
    stale = await store.txn([Compare(key, created - 1)], [Delete(key)])
    deleted = await store.txn([Compare(key, created)], [Delete(key)])
    again = await store.txn([Compare(key, created)], [Delete(key)])
    assert not stale.succeeded
    assert deleted.succeeded
    assert not again.succeeded
    assert again.current == (None,)
    assert (await store.get(key)).item is None


async def test_a_key_that_was_deleted_is_created_anew(store: Store, prefix: bytes) -> None:
    key = prefix + b"a"
    await put(store, key)
    await store.txn([], [Delete(key)])
    revision = await put(store, key, b"2")
    assert (await store.get(key)).item == KeyValue(key, b"2", revision, revision)


async def test_a_transaction_takes_one_revision_for_all_its_keys(store: Store, prefix: bytes) -> None:
    a, b, c = (prefix + name for name in (b"a", b"b", b"c"))
    first = await put(store, c)
    outcome = await store.txn([Compare(a, 0), Compare(c, first)], [Put(a, b"1"), Put(b, b"2"), Delete(c)])
    page = await store.list(prefix)
    assert outcome.revision == first + 1
    assert [(item.key, item.mod_revision) for item in page.items] == [(a, first + 1), (b, first + 1)]


async def test_a_transaction_with_one_wrong_compare_does_nothing(store: Store, prefix: bytes) -> None:
    a, b = prefix + b"a", prefix + b"b"
    first = await put(store, a)
    outcome = await store.txn([Compare(a, first), Compare(b, first)], [Put(a, b"2"), Put(b, b"2")])
    assert not outcome.succeeded
    assert outcome.current == (KeyValue(a, b"v", first, first), None)
    assert (await store.list(prefix)).items == (KeyValue(a, b"v", first, first),)


async def test_deleting_what_is_not_there_takes_no_revision(store: Store, prefix: bytes) -> None:
    before = await store.revision()
    outcome = await store.txn([], [Delete(prefix + b"a")])
    assert outcome.succeeded
    assert outcome.revision == before == await store.revision()


async def test_a_transaction_without_operations_only_compares(store: Store, prefix: bytes) -> None:
    key = prefix + b"a"
    revision = await put(store, key)
    assert (await store.txn([Compare(key, revision)], [])).succeeded
    assert not (await store.txn([Compare(key, 0)], [])).succeeded
    assert await store.revision() == revision


async def test_a_list_is_in_byte_order_and_stays_below_its_prefix(store: Store, prefix: bytes) -> None:
    names = [b"b", b"a/2", b"a/10", b"a", b"a0", b"\xff", b"\x00"]
    for name in names:
        await put(store, prefix + name)
    await put(store, prefix[:-1] + b"0")
    page = await store.list(prefix)
    assert [item.key for item in page.items] == [prefix + name for name in sorted(names)]
    assert [item.key for item in (await store.list(prefix + b"a/")).items] == [
        prefix + b"a/10",
        prefix + b"a/2",
    ]
    assert not page.more


async def test_pages_of_a_list_are_of_one_revision(store: Store, prefix: bytes) -> None:
    keys = [prefix + b"%02d" % number for number in range(10)]
    for key in keys:
        await put(store, key)
    page = await store.list(prefix, limit=4)
    revision = page.revision
    assert (page.more, page.remaining) == (True, 6)
    await store.txn([], [Delete(keys[5]), Put(keys[9], b"new"), Put(prefix + b"03x", b"new")])
    found = [*page.items]
    while page.more:
        page = await store.list(prefix, start=found[-1].key + b"\x00", limit=4, revision=revision)
        assert page.revision == revision
        found += page.items
    assert [(item.key, item.value) for item in found] == [(key, b"v") for key in keys]
    assert page.remaining == 0


async def test_a_list_from_a_start_beyond_the_end_is_empty(store: Store, prefix: bytes) -> None:
    await put(store, prefix + b"a")
    page = await store.list(prefix, start=prefix[:-1] + b"1")
    assert page.items == ()
    assert page.revision == await store.revision()


async def test_a_list_without_limit_brings_thousands_of_keys(store: Store, prefix: bytes) -> None:
    keys = [prefix + b"%05d" % number for number in range(2500)]
    for start in range(0, len(keys), 100):
        await store.txn([], [Put(key, b"") for key in keys[start : start + 100]])
    page = await store.list(prefix)
    assert [item.key for item in page.items] == keys
    assert not page.more


async def test_old_revisions_stay_readable(store: Store, prefix: bytes) -> None:
    key = prefix + b"a"
    first = await put(store, key, b"1")
    second = await put(store, key, b"2")
    third = (await store.txn([], [Delete(key)])).revision
    for revision, value in ((first - 1, None), (first, b"1"), (second, b"2"), (third, None)):
        read = await store.get(key, revision=revision)
        assert read.revision == revision
        assert (read.item.value if read.item else None) == value
        listed = await store.list(prefix, revision=revision)
        assert [item.value for item in listed.items] == ([value] if value else [])


async def test_a_revision_in_the_future_is_refused(store: Store, prefix: bytes) -> None:
    future = await store.revision() + 1000
    with pytest.raises(FutureRevision):
        await store.get(prefix, revision=future)
    with pytest.raises(FutureRevision):
        await store.list(prefix, revision=future)
    with pytest.raises(FutureRevision):
        await store.compact(future)


async def test_compaction_forgets_history_and_keeps_the_present(store: Store, prefix: bytes) -> None:
    a, b, gone = prefix + b"a", prefix + b"b", prefix + b"gone"
    await put(store, gone)
    first = await put(store, a, b"1")
    await store.txn([], [Delete(gone)])
    kept = await put(store, b, b"1")
    second = await put(store, a, b"2")
    await store.compact(kept)
    with pytest.raises(Compacted):
        await store.get(a, revision=kept - 1)
    with pytest.raises(Compacted):
        await store.list(prefix, revision=first)
    assert [item.value for item in (await store.list(prefix, revision=kept)).items] == [b"1", b"1"]
    assert [item.value for item in (await store.list(prefix)).items] == [b"2", b"1"]
    assert (await store.get(a)).item == KeyValue(a, b"2", first, second)


async def test_compacting_again_or_earlier_does_nothing(store: Store, prefix: bytes) -> None:
    for _ in range(3):
        revision = await put(store, prefix + b"a")
    await store.compact(revision)
    await store.compact(revision)
    await store.compact(revision - 1)
    assert (await store.get(prefix + b"a", revision=revision)).item is not None


async def test_a_watch_brings_history_and_then_the_present(store: Store, prefix: bytes) -> None:
    key = prefix + b"a"
    first = await put(store, key, b"1")
    second = await put(store, key, b"2")
    await put(store, b"/elsewhere" + prefix, b"no")
    async with store.watch(prefix, first) as watch:
        third = (await store.txn([], [Delete(key)])).revision
        fourth = await put(store, key, b"4")
        events = await collect(watch, fourth)
    assert events == [
        Event(first, key, KeyValue(key, b"1", first, first)),
        Event(second, key, KeyValue(key, b"2", first, second)),
        Event(third, key, None),
        Event(fourth, key, KeyValue(key, b"4", fourth, fourth)),
    ]


async def test_a_watch_from_now_on_brings_no_history(store: Store, prefix: bytes) -> None:
    before = await put(store, prefix + b"a")
    async with store.watch(prefix, before + 1) as watch:
        after = await put(store, prefix + b"b")
        events = await collect(watch, after)
    assert [event.revision for event in events] == [after]


async def test_a_watch_never_splits_a_transaction(store: Store, prefix: bytes) -> None:
    keys = [prefix + b"%03d" % number for number in range(100)]
    revision = await store.revision()
    for _ in range(20):
        revision = (await store.txn([], [Put(key, b"x" * 100) for key in keys])).revision
    seen: list[int] = []
    async with asyncio.timeout(10), store.watch(prefix, revision - 19) as watch:
        async for batch in watch:
            seen += [event.revision for event in batch.events]
            assert len(seen) % len(keys) == 0
            if batch.revision >= revision:
                break
    assert seen == sorted(seen)
    assert len(seen) == 20 * len(keys)


async def test_watches_under_load_have_no_gaps_and_no_repeats(store: Store, prefix: bytes) -> None:
    start = await store.revision() + 1
    written: list[int] = []

    async def write(name: bytes) -> None:
        written.extend([await put(store, prefix + name) for _ in range(100)])

    async def follow(begin: int) -> list[int]:
        async with store.watch(prefix, begin) as watch:
            marker = prefix + b"end"
            seen: list[int] = []
            async for batch in watch:
                seen += [event.revision for event in batch.events]
                if any(event.key == marker for event in batch.events):
                    return seen
        return seen

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        followers = [group.create_task(follow(start)) for _ in range(3)]
        async with asyncio.TaskGroup() as writers:
            for number in range(8):
                writers.create_task(write(b"%d" % number))
        late = group.create_task(follow(start + 50))
        written.append(await put(store, prefix + b"end"))
    expected = sorted(written)
    for follower in followers:
        assert follower.result() == expected
    assert late.result() == [revision for revision in expected if revision >= start + 50]


async def test_a_watch_from_a_compacted_revision_says_so(store: Store, prefix: bytes) -> None:
    first = await put(store, prefix + b"a")
    for _ in range(3):
        last = await put(store, prefix + b"a")
    await store.compact(last)
    with pytest.raises(Compacted) as caught:
        await first_batch(store, prefix, first)
    assert caught.value.compact_revision in (0, last)


async def test_progress_tells_how_far_an_idle_watch_has_come(store: Store, prefix: bytes) -> None:
    async with store.watch(prefix, await store.revision() + 1) as watch:
        elsewhere = await put(store, b"/elsewhere" + prefix)

        async def ask() -> None:
            while True:
                await watch.request_progress()
                await asyncio.sleep(0.05)

        asking = asyncio.create_task(ask())
        try:
            assert await collect(watch, elsewhere) == []
        finally:
            asking.cancel()


async def test_progress_never_claims_what_has_not_been_delivered(store: Store, prefix: bytes) -> None:
    start = await store.revision() + 1
    batches: list[Batch] = []
    async with asyncio.timeout(30), store.watch(prefix, start) as watch, asyncio.TaskGroup() as group:
        last = 0

        async def write() -> None:
            nonlocal last
            for _ in range(300):
                last = await put(store, prefix + b"a")
                await watch.request_progress()
            last = await put(store, prefix + b"end")

        group.create_task(write())
        async for batch in watch:
            batches.append(batch)
            if any(event.key == prefix + b"end" for event in batch.events):
                break
    reached = 0
    for batch in batches:
        assert all(event.revision > reached for event in batch.events)
        reached = max(reached, batch.revision)
    assert sum(len(batch.events) for batch in batches) == 301


async def test_big_values_are_stored_and_too_big_ones_refused(store: Store, prefix: bytes) -> None:
    value = bytes(1_400_000)
    revision = await put(store, prefix + b"big", value)
    assert (await store.get(prefix + b"big")).item == KeyValue(prefix + b"big", value, revision, revision)
    async with store.watch(prefix, revision) as watch:
        assert [event.current.value for event in await collect(watch, revision) if event.current] == [value]
    with pytest.raises(TooLarge):
        await put(store, prefix + b"bigger", bytes(2_000_000))
    with pytest.raises(TooLarge):
        await store.txn([], [Put(prefix + b"%d" % number, b"") for number in range(129)])


async def test_many_big_values_are_listed(store: Store, prefix: bytes) -> None:
    for number in range(8):
        await put(store, prefix + b"%d" % number, bytes(1_000_000))
    assert sum(len(item.value) for item in (await store.list(prefix)).items) == 8_000_000


async def test_a_key_is_written_once_in_a_transaction(store: Store, prefix: bytes) -> None:
    with pytest.raises(ValueError, match="at most once"):
        await store.txn([], [Put(prefix, b"1"), Delete(prefix)])


async def test_of_many_who_create_the_same_key_one_succeeds(store: Store, prefix: bytes) -> None:
    key = prefix + b"a"
    outcomes = await asyncio.gather(
        *(store.txn([Compare(key, 0)], [Put(key, b"%d" % number)]) for number in range(50))
    )
    assert sum(outcome.succeeded for outcome in outcomes) == 1


async def test_a_write_that_was_acknowledged_is_in_every_later_read(store: Store, prefix: bytes) -> None:
    for number in range(50):
        revision = await put(store, prefix + b"a", b"%d" % number)
        read, page, now = await asyncio.gather(store.get(prefix + b"a"), store.list(prefix), store.revision())
        assert read.item is not None
        assert read.item.value == b"%d" % number
        assert min(read.revision, page.revision, now) >= revision


async def test_a_closed_store_is_unavailable(store: Store, prefix: bytes) -> None:
    await store.close()
    for call in (
        store.get(prefix),
        store.list(prefix),
        store.revision(),
        store.txn([], [Put(prefix, b"")]),
        store.compact(1),
    ):
        with pytest.raises(Unavailable):
            await call


async def test_closing_ends_a_watch(store: Store, prefix: bytes) -> None:
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        started = asyncio.Event()

        async def follow() -> None:
            with pytest.raises(StorageError):
                await first_batch(store, prefix, 0, started)

        group.create_task(follow())
        await started.wait()
        await store.close()
