"""Acting as somebody else, for who may. After this filter the impersonation headers are gone.

Source: `k8s.io/apiserver/pkg/endpoints/filters/impersonation`; `auth/impersonation.py` has the rules.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.auth import impersonation
from apiserver.auth.authorizer import Authorizer
from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.machinery import errors
from apiserver.server.filters import Filter

_PREFIX = b"impersonate-"


def impersonate(authorizer: Authorizer) -> Filter:
    """Replace `Request.user` by whom the headers name, if the sender may impersonate them; else 403."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            request: Request = scope[SCOPE_KEY]
            if any(name.startswith(_PREFIX) for name in request.headers):
                await _act_as(scope, request, authorizer)
            await app(scope, receive, send)

        return handle

    return wrap


async def _act_as(scope: Scope, request: Request, authorizer: Authorizer) -> None:
    sender = request.user
    if sender is None:
        raise errors.internal("no user found for request")
    request.user = await impersonation.impersonate(scope["headers"], sender, authorizer)
    if request.user is not sender:
        request.impersonator = sender
    scope["headers"] = impersonation.strip(scope["headers"])
    request.headers = dict(reversed(scope["headers"]))
