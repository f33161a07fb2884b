"""Compaction."""

from __future__ import annotations

from storage.errors import Compacted
from storage.etcd.caller import Caller
from storage.etcd.methods import COMPACT
from storage.etcd.proto import etcd_wire_pb2 as wire


async def compact(caller: Caller, revision: int) -> None:
    """Forget the history before a revision; that it is forgotten already is fine.
    Raises FutureRevision, Unavailable."""
    try:
        await caller.call(COMPACT, wire.CompactionRequest(revision=revision))
    except Compacted:
        return
