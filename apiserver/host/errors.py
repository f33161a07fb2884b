"""How calls to the host cluster fail: an answer is an `APIError`, no answer is `HostUnreachable`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from apiserver.machinery.errors import APIError, Cause

# Reasons by code, for answers that are no Status (proxies, load balancers): `metav1.StatusReason`.
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class HostUnreachable(ConnectionError):  # noqa: N818 - a state of the world, named as such
    """The host cluster gave no answer: refused, reset, timed out, fell silent,
    or its certificate does not verify.

    Whether a write was done is not known.
    """


def error_from_answer(code: int, body: bytes, retry_after: str | None) -> APIError:
    """The `APIError` for an unsuccessful answer, whether its body is a Status or not."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = body[:200].decode("utf-8", "replace").strip() or f"the server answered {code}"
        status = {"code": code, "message": text}
    error = error_from_status(status, code)
    if not error.retry_after_seconds and retry_after and retry_after.isdigit():
        error.retry_after_seconds = int(retry_after)
    return error


def error_from_status(status: Mapping[str, Any], code: int = 500) -> APIError:
    """The `APIError` that a Status tells of; `code` is used when the Status has none."""
    details = status.get("details") or {}
    code = int(status.get("code") or code)
    return APIError(
        code,
        status.get("reason") or _REASONS.get(code, "Unknown"),
        status.get("message") or "",
        name=details.get("name") or "",
        group=details.get("group") or "",
        kind=details.get("kind") or "",
        uid=details.get("uid") or "",
        causes=tuple(
            Cause(cause.get("reason") or "", cause.get("message") or "", cause.get("field") or "")
            for cause in details.get("causes") or ()
        ),
        retry_after_seconds=int(details.get("retryAfterSeconds") or 0),
        continue_token=(status.get("metadata") or {}).get("continue") or "",
    )
