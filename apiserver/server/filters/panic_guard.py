"""The one place where a failure becomes an answer. Nothing gets past it unanswered, or with a traceback.

An answer that has begun cannot be taken back: then the connection is ended without the final chunk, so that
the client notices.
"""

from __future__ import annotations

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.endpoints.respond import send_status
from apiserver.machinery import errors
from apiserver.server.filters import Filter

_log = structlog.get_logger()

TIMED_OUT = "Timeout: request did not complete within the allotted timeout"


def panic_guard() -> Filter:
    """Turn an `APIError` into its Status, a time-out into 504, and all else into a 500 that tells nothing."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await app(scope, receive, send)
            except errors.APIError as error:
                failure = error
            except TimeoutError:
                failure = timed_out()
            except Exception:
                failure = _unexpected(scope)
            else:
                return
            request: Request = scope[SCOPE_KEY]
            if request.response_started:
                # Returning before the body is complete makes the server close the connection.
                path, audit_id = request.info.path, request.audit_id
                _log.info("answer broken off", path=path, audit_id=audit_id, why=str(failure))
                return
            await send_status(send, scope, failure)

        return handle

    return wrap


def timed_out() -> errors.APIError:
    """504, as kube-apiserver words it."""
    return errors.timeout(TIMED_OUT, retry_after_seconds=0)


def _unexpected(scope: Scope) -> errors.APIError:
    """A fault of ours: the log gets the traceback, the client gets the number to find it by."""
    request: Request = scope[SCOPE_KEY]
    _log.exception(
        "request failed unexpectedly",
        method=request.info.method,
        path=request.info.path,
        audit_id=request.audit_id,
    )
    return errors.internal(f"an unexpected fault; the log tells more under audit ID {request.audit_id}")
