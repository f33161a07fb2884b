"""No 404 before the server knows all that it serves.

The garbage collector and the namespace controller take a 404 for a fact and delete by it. Source:
`k8s.io/apiserver/pkg/endpoints/filters.WithMuxAndDiscoveryComplete` with its not-found handler.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.machinery import errors
from apiserver.server.filters import Filter

NOT_INSTALLED = "the request has been made before all known HTTP paths have been installed, please try again"
_RETRY_AFTER_SECONDS = 5


def not_found_only_when_ready(is_complete: Callable[[], bool]) -> Filter:
    """Turn a 404 of a request that came before start-up was complete into a 503 that asks to try again."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            if is_complete():
                await app(scope, receive, send)
                return
            try:
                await app(scope, receive, send)
            except errors.APIError as error:
                if error.code != 404:
                    raise
                raise errors.unavailable(NOT_INSTALLED, _RETRY_AFTER_SECONDS) from error

        return handle

    return wrap
