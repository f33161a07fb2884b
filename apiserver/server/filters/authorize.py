"""May they. Nothing below this filter runs for who may not.

Source: `k8s.io/apiserver/pkg/endpoints/filters.WithAuthorization`.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.auth.authorizer import Attributes, Authorizer, require
from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.machinery import errors
from apiserver.server.filters import Filter


def authorize(authorizer: Authorizer) -> Filter:
    """Ask whether the user may do what the request does; 403 if not."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            await require(authorizer, attributes_of(scope[SCOPE_KEY]))
            await app(scope, receive, send)

        return handle

    return wrap


def attributes_of(request: Request) -> Attributes:
    """What the request does, as the authorizer wants it put."""
    info, user = request.info, request.user
    if user is None:
        raise errors.internal("no user found for request")
    if not info.is_resource_request:
        return Attributes(user, info.verb, is_resource_request=False, path=info.path)
    return Attributes(
        user,
        info.verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
        path=info.path,
    )
