"""Forgetting history: every few minutes the store is compacted to where it was one interval ago.

Nobody else compacts a store of our own, and one that is never compacted grows until it refuses writes.
Several replicas do not fight: each interval, the one that first changes a common key (compared at the
revision seen last) does it, the others only take note. Key and meaning are those of kube-apiserver, so the
two can share an etcd.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from storage.errors import Ambiguous, NoSpace, StorageError
from storage.interface import Compare, Put, Store

INTERVAL = 300.0
"""Seconds; history is kept for one to two of them."""
KEY = b"compact_rev_key"


class Compactor:
    """See the module. `on_round` is told after each round to which revision this replica has compacted (0: it
    was not its turn), or what went wrong; a failed round is made up for by the next."""

    def __init__(
        self,
        store: Store,
        *,
        interval: float = INTERVAL,
        key: bytes = KEY,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_round: Callable[[int, StorageError | None], None] | None = None,
    ) -> None:
        self._store = store
        self._interval = interval
        self._key = key
        self._sleep = sleep
        self._on_round = on_round
        self._seen = 0
        self._revision = 0

    async def run(self) -> None:
        """Compact at every interval until cancelled."""
        while True:
            await self._sleep(self._interval)
            compacted, failure = 0, None
            try:
                compacted = await self.round()
            except StorageError as error:
                failure = error
            if self._on_round is not None:
                self._on_round(compacted, failure)

    async def round(self) -> int:
        """One round: compact to the revision of the round before if it is our turn.
        Returns that revision, or 0."""
        previous = self._revision
        value = str(previous).encode()
        try:
            outcome = await self._store.txn([Compare(self._key, self._seen)], [Put(self._key, value)])
        except Ambiguous:
            self._seen = 0  # whoever wrote: the next round finds out
            raise
        except NoSpace:
            # Taking turns needs a write, but compaction is what makes room.
            self._revision = await self._store.revision()
            if previous:
                await self._store.compact(previous)
            raise
        self._revision = outcome.revision
        if not outcome.succeeded:
            found = outcome.current[0]
            self._seen = found.mod_revision if found is not None else 0
            return 0
        self._seen = outcome.revision
        if previous:
            await self._store.compact(previous)
        return previous
