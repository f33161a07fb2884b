"""The store in etcd: one method a call, each in its file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from storage.etcd import compact, maintenance, txn, watch
from storage.etcd import range as ranges
from storage.etcd.caller import Caller
from storage.etcd.options import EtcdOptions
from storage.interface import Compare, Op, Page, Read, Txn
from storage.ranges import check_txn


class EtcdStore:
    """See `storage.interface.Store`. Made by `open`, which does not wait for etcd: it may come up later."""

    def __init__(self, options: EtcdOptions) -> None:
        self._options = options
        self._caller = Caller(options)

    @classmethod
    async def open(cls, options: EtcdOptions) -> EtcdStore:
        """A store on the running loop. Nothing is connected yet."""
        return cls(options)

    async def get(self, key: bytes, *, revision: int = 0) -> Read:
        """Read one key, linearizably, or as of a revision."""
        return await ranges.get(self._caller, key, revision)

    async def list(self, prefix: bytes, *, start: bytes = b"", limit: int = 0, revision: int = 0) -> Page:
        """Read the keys below a prefix, now or as of a revision."""
        return await ranges.list_page(self._caller, prefix, start, limit, revision)

    async def txn(self, compares: Sequence[Compare], ops: Sequence[Op]) -> Txn:
        """If all compares hold, do all ops at one new revision."""
        check_txn(compares, ops, max_ops=self._options.max_txn_ops, max_bytes=self._options.max_txn_bytes)
        return await txn.txn(self._caller, compares, ops)

    def watch(self, prefix: bytes, start_revision: int) -> AbstractAsyncContextManager[watch.EtcdWatch]:
        """Watch the keys below a prefix from a revision on (0: from now on)."""
        return watch.watch(self._caller, prefix, start_revision, self._options.timeout)

    async def revision(self) -> int:
        """The store's revision now, linearizably."""
        return await ranges.read_revision(self._caller, self._options.probe_key)

    async def compact(self, revision: int) -> None:
        """Forget the history before a revision."""
        await compact.compact(self._caller, revision)

    async def status(self) -> maintenance.Status:
        """The state of the server in use."""
        return await maintenance.status(self._caller)

    async def reclaim_space(self) -> None:
        """The way out of NoSpace, after something was deleted: compact, defragment, take back the alarm."""
        await maintenance.reclaim_space(self._caller, await self.revision())

    async def close(self) -> None:
        """Close the connections."""
        await self._caller.close()
