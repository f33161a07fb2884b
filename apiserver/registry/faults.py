"""Storage errors as the client sees them. The only place where the one set is turned into the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apiserver.machinery import errors
from apiserver.machinery.errors import APIError, Cause
from storage.errors import Ambiguous, Compacted, FutureRevision, NoSpace, StorageError, TooLarge, Unavailable

TOO_LARGE_RESOURCE_VERSION = "ResourceVersionTooLarge"


@contextmanager
def storage_faults(asked: int = 0) -> Iterator[None]:
    """Turn storage errors raised inside into API errors;
    `asked` is the revision that the client asked for."""
    try:
        yield
    except StorageError as fault:
        raise api_error(fault, asked) from fault


def api_error(fault: StorageError, asked: int = 0) -> APIError:
    """The API error for a storage error."""
    match fault:
        case Compacted():
            return too_old(asked, fault.compact_revision)
        case FutureRevision():
            return too_large_resource_version(asked, fault.current)
        case NoSpace():
            return errors.unavailable("storage is out of space: compact, defragment or raise its quota", 30)
        case TooLarge():
            return errors.too_large("the object is larger than storage accepts")
        case Ambiguous():
            return errors.timeout("storage gave no answer in time: the outcome of the write is not known")
        case Unavailable():
            return errors.unavailable("storage cannot be reached")
        case _:
            return errors.internal("storage failed")


def too_old(asked: int, oldest: int) -> APIError:
    """410: the revision has left the window."""
    return errors.expired(f"too old resource version: {asked} ({oldest})")


def too_large_resource_version(asked: int, current: int) -> APIError:
    """504: the revision has not been reached."""
    return errors.timeout(
        f"Timeout: Too large resource version: {asked}, current: {current}",
        causes=[Cause(reason=TOO_LARGE_RESOURCE_VERSION, message="Too large resource version")],
    )
