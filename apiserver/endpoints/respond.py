"""The one place where answers are written: bodies with their encoding, and errors as `metav1.Status`.

It knows of HTTP and of Status and nothing of resources. Headers that every answer carries (Audit-Id,
Cache-Control, warnings) are added by the chain's outermost filter, so that streams get them too.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Iterable
from typing import Any

import orjson
import yaml
from starlette.types import Scope, Send

from apiserver.endpoints.negotiation import JSON, PLAIN, YAML, Accepted, accepted
from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.machinery.errors import APIError

Header = tuple[bytes, bytes]

GZIP_THRESHOLD = 128 * 1024
"""Bytes above which an answer is compressed, as kube-apiserver does (`defaultGzipThresholdBytes`)."""

PIECE = 256 * 1024
"""Bytes that are handed to the connection at once."""

_GZIP_LEVEL = 1
_THREAD_THRESHOLD = 512 * 1024
_MAX_WARNING_CHARACTERS = 4096
_MAX_LONG_WARNING_CHARACTERS = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NO_BODY = frozenset({204, 304})


async def send_bytes(
    send: Send,
    request: Request,
    status: int,
    content_type: str,
    body: bytes,
    headers: Iterable[Header] = (),
) -> None:
    """Send a whole answer, compressed where the client takes that and it pays; without a body for HEAD."""
    extra: list[Header] = [(b"content-type", content_type.encode("latin-1")), *headers]
    if len(body) > GZIP_THRESHOLD and accepts_gzip(request):
        body = await compress(body)
        extra += ((b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))
    if status in _NO_BODY:
        body = b""
        extra = extra[1:]
    else:
        extra.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": extra})
    if request.info.method == "HEAD" or len(body) <= PIECE:
        await send({"type": "http.response.body", "body": b"" if request.info.method == "HEAD" else body})
        return
    # In pieces, each of which waits until the one before is on its way: a reader that stalls holds one
    # piece and a request slot, and runs into the time limit, instead of leaving the whole in a buffer.
    view = memoryview(body)
    for begin in range(0, len(body), PIECE):
        piece, more = view[begin : begin + PIECE], begin + PIECE < len(body)
        await send({"type": "http.response.body", "body": piece, "more_body": more})


async def send_object(
    send: Send,
    request: Request,
    status: int,
    accept: Accepted,
    obj: Any,
    headers: Iterable[Header] = (),
) -> None:
    """Encode an object as negotiated, and send it."""
    await send_bytes(send, request, status, accept.media_type, encode(obj, accept), headers)


async def send_status(send: Send, scope: Scope, error: APIError) -> None:
    """Answer with the Status of an error, in JSON unless the client took nothing but YAML."""
    request: Request = scope[SCOPE_KEY]
    try:
        accept = accepted(request, PLAIN)
    except APIError:
        # The error itself matters more than the form that it comes in.
        accept = Accepted(JSON, pretty=True)
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in error.headers.items()
    ]
    if error.retry_after_seconds:
        headers.append((b"retry-after", b"%d" % error.retry_after_seconds))
    await send_object(send, request, error.code, accept, error.status(), headers)


def encode(obj: Any, accept: Accepted) -> bytes:
    """An object as JSON with a final newline, indented if that is wanted, or as YAML."""
    if accept.media_type == YAML:
        return yaml.safe_dump(obj, allow_unicode=True, sort_keys=False).encode()
    options = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if accept.pretty else 0)
    return orjson.dumps(obj, option=options)


def accepts_gzip(request: Request) -> bool:
    """Whether the client lists gzip, without parameters, among the encodings that it takes."""
    header = request.headers.get(b"accept-encoding")
    return header is not None and any(token.strip() == b"gzip" for token in header.split(b","))


async def compress(body: bytes) -> bytes:
    """Compress at the cheapest level; large bodies in a thread, so that the event loop does not wait."""
    if len(body) < _THREAD_THRESHOLD:
        return _gzip(body)
    return await asyncio.to_thread(_gzip, body)


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=_GZIP_LEVEL, mtime=0)


def warning_headers(warnings: Iterable[str]) -> list[Header]:
    """The `Warning` headers for sentences: each once, bounded in all; past the bound each is cut short."""
    texts = [text for text in dict.fromkeys(warnings) if text and not _CONTROL.search(text)]
    if sum(map(len, texts)) > _MAX_WARNING_CHARACTERS:
        texts = [text[:_MAX_LONG_WARNING_CHARACTERS] for text in texts]
        texts = texts[: _MAX_WARNING_CHARACTERS // _MAX_LONG_WARNING_CHARACTERS]
    return [(b"warning", f'299 - "{_quoted(text)}"'.encode()) for text in texts]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
