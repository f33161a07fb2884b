"""Counts the requests being served, so that a shutdown can wait for them, and turns away what comes after.

Source: `k8s.io/apiserver/pkg/server/filters.WithWaitGroup`. Watches are counted apart: they end when told to.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.endpoints.request import SCOPE_KEY, STOPPING_KEY, Request
from apiserver.endpoints.request_info import is_long_running, is_probe
from apiserver.machinery import errors
from apiserver.server.filters import Filter
from apiserver.server.lifecycle import Lifecycle


def drain(lifecycle: Lifecycle) -> Filter:
    """Account for each request; once requests are refused, answer 503 and close the connection."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            request: Request = scope[SCOPE_KEY]
            if lifecycle.refusing.is_set() and not is_probe(request.info):
                error = errors.unavailable("apiserver is shutting down.")
                error.headers["Connection"] = "close"
                raise error
            scope[STOPPING_KEY] = lifecycle.ending_watches
            watch = is_long_running(request.info)
            lifecycle.enter(watch=watch)
            try:
                await app(scope, receive, send)
            finally:
                lifecycle.leave(watch=watch)

        return handle

    return wrap
