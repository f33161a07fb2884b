"""The time that a request may take: `--request-timeout`, or less where the client asks for less.

Watches have no such limit; they end by `timeoutSeconds`. Source: `WithRequestDeadline` and
`WithTimeoutForNonLongRunningRequests` of `k8s.io/apiserver`.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.endpoints.request_info import is_long_running
from apiserver.machinery import errors
from apiserver.machinery.duration import parse_duration
from apiserver.server.filters import Filter
from apiserver.server.filters.panic_guard import timed_out


def limit_time(request_timeout: float) -> Filter:
    """End requests after `request_timeout` seconds with 504; the deadline is noted for those who wait."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            request: Request = scope[SCOPE_KEY]
            if is_long_running(request.info):
                await app(scope, receive, send)
                return
            request.deadline = request.received + _allowed(request, request_timeout)
            limit = asyncio.timeout_at(request.deadline)
            try:
                async with limit:
                    await app(scope, receive, send)
            except TimeoutError:
                if limit.expired():
                    raise timed_out() from None
                raise

        return handle

    return wrap


def _allowed(request: Request, maximum: float) -> float:
    text = request.parameter("timeout")
    if not text:
        return maximum
    try:
        wanted = parse_duration(text)
    except ValueError as error:
        raise errors.bad_request(f"invalid timeout specified in the request URL - {error}") from None
    return wanted if 0 < wanted < maximum else maximum
