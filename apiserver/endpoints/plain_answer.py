"""The answer of a FastAPI route: a thin Response that writes through `respond`, as all endpoints do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from apiserver.endpoints.negotiation import JSON, PLAIN, Restrictions, accepted
from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.endpoints.respond import Header, encode, send_bytes

TEXT = "text/plain; charset=utf-8"
NO_SNIFF: Header = (b"x-content-type-options", b"nosniff")


class Answer(Response):
    """Bytes with their content type, compressed where that pays."""

    def __init__(
        self, body: bytes, content_type: str = JSON, status: int = 200, headers: Iterable[Header] = ()
    ) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        self._content_type = content_type
        self._extra = tuple(headers)

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        request: Request = scope[SCOPE_KEY]
        await send_bytes(send, request, self.status_code, self._content_type, bytes(self.body), self._extra)


def kube(request: HTTPRequest) -> Request:
    """The chain's state of a request."""
    found: Request = request.scope[SCOPE_KEY]
    return found


def negotiated(request: Request, obj: Any, restrictions: Restrictions = PLAIN) -> Answer:
    """An object in JSON or YAML, as the client likes it. Raises 406 NotAcceptable."""
    accept = accepted(request, restrictions)
    return Answer(encode(obj, accept), accept.media_type)


def raw_json(obj: Any) -> Answer:
    """Indented JSON whatever the client accepts: for what is no API object (`WriteRawJSON`)."""
    return Answer(orjson.dumps(obj, option=orjson.OPT_INDENT_2))
