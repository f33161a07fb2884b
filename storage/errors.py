"""The closed set of storage errors."""

# ruff: noqa: N818 - the names say what happened

from __future__ import annotations


class StorageError(Exception):
    """The base of all storage errors."""


class Unavailable(StorageError):
    """The store cannot be reached, or gave no answer in time. A read can be tried again;
    nothing was written."""


class Ambiguous(StorageError):
    """A transaction was sent and its outcome is not known: read back before trying again."""


class Compacted(StorageError):
    """The revision asked for has been compacted away. `compact_revision` is the oldest one still readable (0:
    unknown)."""

    def __init__(self, compact_revision: int = 0) -> None:
        super().__init__(f"revision has been compacted; oldest readable revision is {compact_revision}")
        self.compact_revision = compact_revision


class FutureRevision(StorageError):
    """The revision asked for has not been reached by the store. `current` is where the store is (0:
    unknown)."""

    def __init__(self, current: int = 0) -> None:
        super().__init__(f"revision is in the future; the store is at {current}")
        self.current = current


class NoSpace(StorageError):
    """The store refuses writes because its space quota is used up."""


class TooLarge(StorageError):
    """A value or a transaction is larger than the store takes."""


class Expired(Compacted):
    """A watch cannot be served, or cannot go on: the changes it needs have left the window of the cache."""


class Locked(StorageError):
    """Another process has the store open, and this store can have only one."""


class Denied(StorageError):
    """The store refuses our credentials or our permissions: trying again without a change of them is vain."""
