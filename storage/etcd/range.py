"""Reading: one key, pages of keys, and the store's revision."""

from __future__ import annotations

from collections.abc import Iterable

from storage.etcd.caller import Caller
from storage.etcd.methods import RANGE
from storage.etcd.proto import etcd_wire_pb2 as wire
from storage.interface import KeyValue, Page, Read
from storage.ranges import end_of_prefix

PAGE = 1000
"""Keys read in one call when everything is wanted."""


async def get(caller: Caller, key: bytes, revision: int) -> Read:
    """One key now (0) or at a revision."""
    answer = await caller.call(RANGE, wire.RangeRequest(key=key, revision=revision))
    items = key_values(answer.kvs)
    return Read(revision or answer.header.revision, items[0] if items else None)


async def list_page(caller: Caller, prefix: bytes, start: bytes, limit: int, revision: int) -> Page:
    """Up to `limit` keys below a prefix (0: all, read in pages) now (0) or at a revision."""
    page = await _page(caller, prefix, start, limit or PAGE, revision)
    if limit or not page.more:
        return page
    items, more = [*page.items], True
    while more:
        page = await _page(caller, prefix, items[-1].key + b"\x00", PAGE, page.revision)
        items += page.items
        more = page.more
    return Page(page.revision, tuple(items))


async def _page(caller: Caller, prefix: bytes, start: bytes, limit: int, revision: int) -> Page:
    request = wire.RangeRequest(
        key=max(prefix, start) or b"\x00",
        range_end=end_of_prefix(prefix) or b"\x00",
        limit=limit,
        revision=revision,
    )
    if prefix and request.key >= request.range_end:
        return Page(revision or await read_revision(caller, prefix), ())
    answer = await caller.call(RANGE, request)
    items = key_values(answer.kvs)
    # `count` is of the whole range, whatever the limit.
    remaining = answer.count - len(items) if answer.more else 0
    return Page(revision or answer.header.revision, items, answer.more, remaining)


async def read_revision(caller: Caller, probe: bytes) -> int:
    """The store's revision now, by a linearizable read of a key that need not exist."""
    answer = await caller.call(RANGE, wire.RangeRequest(key=probe, count_only=True))
    return answer.header.revision


def key_values(kvs: Iterable[wire.KeyValue]) -> tuple[KeyValue, ...]:
    """Ours from theirs."""
    return tuple(KeyValue(kv.key, kv.value, kv.create_revision, kv.mod_revision) for kv in kvs)
