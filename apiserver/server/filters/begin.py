"""The outermost filter: a request gets its identity, and every answer its common headers.

Whatever answers (an endpoint, another filter, a stream), answers through the tap put in here, so that no
answer leaves without the Audit-Id, and so that the chain knows what was sent.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apiserver.endpoints.request import SCOPE_KEY, Request, RequestInfo
from apiserver.endpoints.respond import warning_headers
from apiserver.server.filters import Filter

_CACHE_CONTROL = b"cache-control"
_NOT_CACHED = (_CACHE_CONTROL, b"no-cache, private")


def begin(new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> Filter:
    """Start a `Request`: reuse the client's Audit-ID or make one, and echo it."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                raise RuntimeError(f"only HTTP is served, not {scope['type']}")
            # Reversed, because the first of several values counts.
            headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
            method = scope["method"]
            request = Request(
                RequestInfo(False, scope["path"], method.lower(), method),
                audit_id=headers.get(b"audit-id", b"").decode("latin-1") or new_id(),
                user_agent=headers.get(b"user-agent", b"").decode("latin-1"),
                headers=headers,
                received=asyncio.get_running_loop().time(),
            )
            scope[SCOPE_KEY] = request
            await app(scope, receive, Tap(request, send))

        return handle

    return wrap


class Tap:
    """Passes an answer on, adds the common headers, and notes its status and size in the request."""

    __slots__ = ("_request", "_send")

    def __init__(self, request: Request, send: Send) -> None:
        self._request = request
        self._send = send

    def __call__(self, message: Message) -> Awaitable[None]:
        request = self._request
        if message["type"] == "http.response.start":
            request.response_started = True
            request.status_code = message["status"]
            headers = [*message.get("headers", ()), (b"audit-id", request.audit_id.encode("latin-1"))]
            if not any(name == _CACHE_CONTROL for name, _ in headers):
                headers.append(_NOT_CACHED)
            if request.warnings:
                headers += warning_headers(request.warnings)
            message["headers"] = headers
        else:
            request.response_bytes += len(message.get("body", b""))
        return self._send(message)
