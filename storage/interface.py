"""What a versioned key-value store does. The semantics are those of etcd v3: one revision counter for the
whole store, every transaction takes one revision, old revisions stay readable until compacted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key with its value as of `mod_revision`."""

    key: bytes
    value: bytes
    create_revision: int
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Compare:
    """Holds when the key was last modified at `mod_revision`; 0 means that the key does not exist."""

    key: bytes
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Put:
    """Write a value."""

    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a key; removing one that does not exist changes nothing."""

    key: bytes


Op = Put | Delete


@dataclass(frozen=True, slots=True)
class Txn:
    """The outcome of a transaction. `revision` is the one that it wrote, or the store's revision when it
    failed; `current` holds, when it failed, the state of each compared key in the order of the compares."""

    succeeded: bool
    revision: int
    current: tuple[KeyValue | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """One key at one revision: `revision` is the store's when read, or the one asked for."""

    revision: int
    item: KeyValue | None


@dataclass(frozen=True, slots=True)
class Page:
    """Keys in byte order at one revision. `more` says that keys follow; `remaining` is how many."""

    revision: int
    items: tuple[KeyValue, ...]
    more: bool = False
    remaining: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one key. `current` is None for a deletion;
    a creation has equal create and mod revisions."""

    revision: int
    key: bytes
    current: KeyValue | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Events in revision order, never splitting a transaction; every event up to `revision` has been
    delivered. A batch without events only says how far the stream has come (progress)."""

    revision: int
    events: tuple[Event, ...] = ()


class Watch(Protocol):
    """A stream of batches from a start revision, without gaps or repeats."""

    def __aiter__(self) -> AsyncIterator[Batch]:
        """Raises Compacted when the next revision is gone, Unavailable when the stream broke; both end it."""
        ...

    async def request_progress(self) -> None:
        """Ask for a batch that says how far the stream has come. May be answered late or never: a hint."""
        ...


class Store(Protocol):
    """A versioned key-value store. Every call is bounded in time and raises only `storage.errors`."""

    async def get(self, key: bytes, *, revision: int = 0) -> Read:
        """Read one key, linearizably, or as of a revision. Raises Compacted, FutureRevision, Unavailable."""
        ...

    async def list(self, prefix: bytes, *, start: bytes = b"", limit: int = 0, revision: int = 0) -> Page:
        """Read the keys below a prefix, from `start` (inclusive) on, at most `limit` of them (0: all), all at
        one revision. Raises Compacted, FutureRevision, Unavailable."""
        ...

    async def txn(self, compares: Sequence[Compare], ops: Sequence[Op]) -> Txn:
        """If all compares hold, do all ops at one new revision; else do nothing. Without ops it only
        compares. Raises Ambiguous, Unavailable, NoSpace, TooLarge."""
        ...

    def watch(self, prefix: bytes, start_revision: int) -> AbstractAsyncContextManager[Watch]:
        """Watch the keys below a prefix; the first event delivered has a revision ≥ `start_revision`."""
        ...

    async def revision(self) -> int:
        """The store's revision now, linearizably: a write acknowledged before this call is not above it."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget the history before `revision`. Does nothing when that has been done;
        never raises for that."""
        ...

    async def close(self) -> None:
        """Release connections and files; later calls raise Unavailable."""
        ...
