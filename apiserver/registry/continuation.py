"""Continue tokens: where the next page of a list starts, and at which revision.

The form is upstream's (`k8s.io/apiserver/pkg/storage/continue.go`): base64url of
`{"v":"meta.k8s.io/v1","rv":…,"start":…}`.
A revision of −1 stands for a list that goes on although its revision is gone, and so need not be consistent.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import orjson

from apiserver.machinery import errors

_VERSION = "meta.k8s.io/v1"
INCONSISTENT = -1


@dataclass(frozen=True, slots=True)
class Continuation:
    """`start` is the rest of a key below the prefix of the list, inclusive."""

    revision: int
    start: str


def encode(continuation: Continuation) -> str:
    """The token for a continuation."""
    document = {"v": _VERSION, "rv": continuation.revision, "start": continuation.start}
    return base64.urlsafe_b64encode(orjson.dumps(document)).rstrip(b"=").decode()


def decode(token: str) -> Continuation:
    """Read a token. Raises 400 for one that is not ours or points out of the list."""
    try:
        document = orjson.loads(
            base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        )
        version, revision, start = document["v"], document.get("rv", 0), document.get("start", "")
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError):
        raise _invalid("illegal base64 data or JSON") from None
    if version != _VERSION:
        raise _invalid(f'server does not recognize this encoded version "{version}"')
    if not isinstance(revision, int) or isinstance(revision, bool) or revision == 0:
        raise _invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start:
        raise _invalid("encoded start key empty (version meta.k8s.io/v1)")
    if ".." in start.split("/"):
        raise _invalid(f"invalid encoded start key {start}")
    return Continuation(revision, start)


def _invalid(why: str) -> errors.APIError:
    return errors.bad_request(f"continue key is not valid: {why}")
