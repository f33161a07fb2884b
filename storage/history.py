"""How far back the store can still be read: where a cache begins, so that watches survive its restart."""

from __future__ import annotations

from storage.errors import Compacted
from storage.interface import Store


async def oldest_readable(store: Store, prefix: bytes, head: int, depth: int) -> int:
    """The oldest revision that can be read, but at most `depth` before `head`; `head` itself when history is
    compacted faster than it is read. Raises Unavailable."""
    wanted = max(head - depth, 1)
    if wanted >= head:
        return head
    try:
        await store.list(prefix, limit=1, revision=wanted)
    except Compacted as error:
        wanted = error.compact_revision or head
    return min(wanted, head)
