"""Reads the URL and the method once, for every filter and endpoint below."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.endpoints.request_info import parse_query, request_info
from apiserver.server.filters import Filter


def read_request_info() -> Filter:
    """Fill in `Request.info` and `Request.query`. Raises a 400 for a path that cannot be read."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            request: Request = scope[SCOPE_KEY]
            request.query = parse_query(scope["query_string"])
            request.info = request_info(scope["method"], scope["path"], request.query)
            await app(scope, receive, send)

        return handle

    return wrap
