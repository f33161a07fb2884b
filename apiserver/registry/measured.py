"""A store that times what is asked of it, under the metric names that Kubernetes has for its storage."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from prometheus_client import Counter, Histogram

from storage.errors import StorageError
from storage.interface import Compare, Delete, Op, Page, Read, Store, Txn, Watch

T = TypeVar("T")

DURATIONS = Histogram(
    "etcd_request_duration_seconds",
    "Seconds that storage took for an operation.",
    ("operation",),
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
REQUESTS = Counter("etcd_requests", "Operations that storage was asked for.", ("operation",))
FAILURES = Counter("etcd_request_errors", "Operations that storage failed at.", ("operation", "error"))


class MeasuredStore:
    """A `Store` around another one."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, key: bytes, *, revision: int = 0) -> Read:
        """See `Store`."""
        return await _measured("get", self._store.get(key, revision=revision))

    async def list(self, prefix: bytes, *, start: bytes = b"", limit: int = 0, revision: int = 0) -> Page:
        """See `Store`."""
        listing = self._store.list(prefix, start=start, limit=limit, revision=revision)
        return await _measured("list", listing)

    async def txn(self, compares: Sequence[Compare], ops: Sequence[Op]) -> Txn:
        """See `Store`."""
        return await _measured(_operation(compares, ops), self._store.txn(compares, ops))

    def watch(self, prefix: bytes, start_revision: int) -> AbstractAsyncContextManager[Watch]:
        """See `Store`."""
        return self._store.watch(prefix, start_revision)

    async def revision(self) -> int:
        """See `Store`."""
        return await _measured("revision", self._store.revision())

    async def compact(self, revision: int) -> None:
        """See `Store`."""
        await _measured("compact", self._store.compact(revision))

    async def close(self) -> None:
        """See `Store`."""
        await self._store.close()


def _operation(compares: Sequence[Compare], ops: Sequence[Op]) -> str:
    if len(ops) != 1 or len(compares) != 1:
        return "txn"
    if isinstance(ops[0], Delete):
        return "delete"
    return "update" if compares[0].mod_revision else "create"


async def _measured(operation: str, call: Awaitable[T]) -> T:
    begin = time.perf_counter()
    try:
        return await call
    except StorageError as error:
        FAILURES.labels(operation, type(error).__name__).inc()
        raise
    finally:
        REQUESTS.labels(operation).inc()
        DURATIONS.labels(operation).observe(time.perf_counter() - begin)
