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
            except Exception as error:
                failure = _failure(scope, unwrapped(error))
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


def unwrapped(error: Exception) -> Exception:
    """The one error in a group, where that is all there is: what one of several tasks of a request raised."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _failure(scope: Scope, error: Exception) -> errors.APIError:
    if isinstance(error, errors.APIError):
        return error
    return timed_out() if isinstance(error, TimeoutError) else _unexpected(scope, error)


def _unexpected(scope: Scope, error: Exception) -> errors.APIError:
    """A fault of ours: the log gets the traceback, the client gets the number to find it by."""
    request: Request = scope[SCOPE_KEY]
    _log.error(
        "request failed unexpectedly",
        exc_info=error,
        method=request.info.method,
        path=request.info.path,
        audit_id=request.audit_id,
    )
    return errors.internal(f"an unexpected fault; the log tells more under audit ID {request.audit_id}")
