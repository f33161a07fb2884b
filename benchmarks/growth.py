"""Whether GET, CREATE and a watch event cost the same with few and with many objects stored.

The many are put into etcd directly, as copies of one that the server wrote: creating them through the server
would take minutes and show nothing.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from apiserver.apis.ai.resources import INFERENCE_JOBS
from apiserver.registry.keys import KeySpace
from benchmarks.load import Measured, fan_out, requests
from benchmarks.peers import NAMESPACE, OURS, PREFIX, SCRATCH, Field, Peer, field_of
from benchmarks.report import Line
from storage.interface import Put
from storage.open import EtcdOptions, open_store

FEW, MANY = 100, 100_000
BATCH = 100
TARGET = 1.25


def growth(folder: Path, rounds: int) -> list[Line]:
    """The median times of GET, CREATE and of a watch event with many objects, against those with few."""
    with field_of(folder, [OURS]) as field:
        peer = field.ours
        requests(peer, "POST", peer.path(), count=FEW, connections=8, create=True)
        few = [_measure(peer, f"f{number}") for number in range(rounds)]
        print(f"growth: storing {MANY:,} objects", file=sys.stderr, flush=True)
        asyncio.run(_copy(field, MANY))
        many = [_measure(peer, f"m{number}") for number in range(rounds)]
    titles = ("GET", "CREATE", "watch event")
    return [
        Line(
            f"{title}: p50 with {MANY:,} objects : {FEW}",
            "",
            {OURS: [b[index].p50 / a[index].p50 for a, b in zip(few, many, strict=True)]},
            target=TARGET,
            less_is_better=True,
        )
        for index, title in enumerate(titles)
    ]


def _measure(peer: Peer, prefix: str) -> tuple[Measured, Measured, Measured]:
    path = peer.path(SCRATCH)
    return (
        requests(peer, "GET", peer.path(name="{name}"), count=2000, connections=1, modulo=FEW),
        requests(peer, "POST", path, count=500, connections=1, create=True, prefix=f"{prefix}-"),
        fan_out(peer, path, watchers=10, creates=200, connections=1, prefix=f"{prefix}w-", rate=100),
    )


async def _copy(field: Field, count: int) -> None:
    """Copies of one object under other names, in another namespace."""
    keys = KeySpace(PREFIX)
    store = await open_store(EtcdOptions(endpoints=(field.plane.etcd_url,)))
    try:
        page = await store.list(keys.collection(INFERENCE_JOBS, NAMESPACE), limit=1)
        original = page.items[0].value
        name = page.items[0].key.rpartition(b"/")[2]
        for begin in range(0, count, BATCH):
            names = [b"copy-%07d" % number for number in range(begin, min(begin + BATCH, count))]
            puts = [
                Put(
                    keys.object(INFERENCE_JOBS, "copies", copy.decode()),
                    original.replace(b'"name":"%s"' % name, b'"name":"%s"' % copy).replace(
                        b'"namespace":"%s"' % NAMESPACE.encode(), b'"namespace":"copies"'
                    ),
                )
                for copy in names
            ]
            done = await store.txn((), puts)
            assert done.succeeded
    finally:
        await store.close()
    last = field.ours.path("copies", f"copy-{count - 1:07d}")
    while not field.ours.rest.exists(last):  # a GET waits until the cache has caught up
        await asyncio.sleep(0.1)
