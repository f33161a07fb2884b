"""Continue tokens: where the next page of a list starts, and at which revision.

The form is upstream's (`k8s.io/apiserver/pkg/storage/continue.go`): base64url of
`{"v":"meta.k8s.io/v1","rv":…,"start":…}`. A negative revision stands for a list that goes on although its
revision is gone, and so need not be consistent."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import orjson

from apiserver.machinery import errors
from apiserver.machinery.codec.json_body import DecodeError, load_json

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
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True)
        document, _ = load_json(text)
    except (binascii.Error, DecodeError, UnicodeEncodeError) as error:
        raise _invalid(str(error)) from None
    if not isinstance(document, dict):
        raise _invalid("it holds no object")
    version, revision, start = document.get("v", ""), document.get("rv", 0), document.get("start", "")
    if version != _VERSION:
        raise _invalid(f"server does not recognize this encoded version {version}")
    if not isinstance(revision, int) or isinstance(revision, bool) or revision == 0:
        raise _invalid(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not isinstance(start, str) or not start:
        raise _invalid(f"encoded start key empty (version {_VERSION})")
    revision = max(revision, INCONSISTENT)
    if ".." in start.split("/"):
        raise _invalid(f"invalid encoded start key {start}")
    return Continuation(revision, start)


def _invalid(why: str) -> errors.APIError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {why}")
