"""What a failed call means. The texts are those of etcd's `rpctypes`;
codes alone do not tell the cases apart."""

from __future__ import annotations

from enum import Enum, auto

import grpc

from storage.errors import (
    Ambiguous,
    Compacted,
    Denied,
    FutureRevision,
    NoSpace,
    StorageError,
    TooLarge,
    Unavailable,
)

Code = grpc.StatusCode


class Remedy(Enum):
    """What the caller of a failed call may do about it."""

    NONE = auto()
    AUTHENTICATE = auto()
    """The token is not valid (any more); the call was refused before it had an effect."""
    ELSEWHERE = auto()
    """This endpoint was not reached or refused the call before it had an effect: another one may take it."""


_REFUSED_BEFORE = ("etcdserver: no leader", "etcdserver: too many requests", "etcdserver: not capable")
_TOO_LARGE = (
    "etcdserver: request is too large",
    "etcdserver: too many operations in txn request",
    "trying to send message larger than max",
    "received message larger than max",
)
_NEVER_SENT = ("failed to connect to all addresses", "DNS resolution failed", "empty address list")
_TOKEN = ("etcdserver: revision of auth store is old", "etcdserver: user name is empty")
_BY_TEXT: tuple[tuple[str, type[StorageError]], ...] = (
    ("required revision has been compacted", Compacted),
    ("required revision is a future revision", FutureRevision),
    ("database space exceeded", NoSpace),
    ("authentication failed", Denied),
    ("permission denied", Denied),
)


def remedy(error: grpc.aio.AioRpcError) -> Remedy:
    """What may be done about a failure without a risk of doing something twice."""
    code, text = error.code(), error.details() or ""
    if code is Code.UNAUTHENTICATED or (code is Code.INVALID_ARGUMENT and text in _TOKEN):
        return Remedy.AUTHENTICATE
    if code is Code.UNAVAILABLE and any(never in text for never in _NEVER_SENT):
        return Remedy.ELSEWHERE
    return Remedy.ELSEWHERE if text in _REFUSED_BEFORE else Remedy.NONE


def translate(error: grpc.aio.AioRpcError, *, writes: bool) -> StorageError:
    """The storage error for a failed call; `writes` as in `Method`."""
    text = error.details() or error.code().name
    for part, kind in _BY_TEXT:
        if part in text:
            return kind() if kind in (Compacted, FutureRevision) else kind(text)
    if any(part in text for part in _TOO_LARGE):
        return TooLarge(text)
    if writes and remedy(error) is Remedy.NONE and error.code() is not Code.INVALID_ARGUMENT:
        return Ambiguous(text)
    return Unavailable(text)
