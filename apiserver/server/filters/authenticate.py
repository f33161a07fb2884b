"""Who is asking. After this filter nothing that speaks for a user is left in the headers, forged or not.

Source: `k8s.io/apiserver/pkg/endpoints/filters.WithAuthentication`.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.auth import requestheader
from apiserver.auth.configmap import RequestHeaderConfig
from apiserver.auth.request import Authenticator, Credentials
from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.machinery import errors
from apiserver.server.filters import Filter
from apiserver.server.protocol import peer_certificates


def authenticate(
    authenticator: Authenticator,
    front_proxy: Callable[[], RequestHeaderConfig | None] = lambda: None,
) -> Filter:
    """Fill in `Request.user`; 401 for whoever is nobody. `front_proxy` gives the header names to strip."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            request: Request = scope[SCOPE_KEY]
            certificate, intermediates = peer_certificates(scope)
            credentials = Credentials(scope["headers"], certificate, peer_intermediates=intermediates)
            request.user = await authenticator.authenticate(credentials)
            if request.user is None:
                raise errors.unauthorized()
            scope["headers"] = requestheader.strip(scope["headers"], front_proxy())
            request.headers = dict(reversed(scope["headers"]))
            await app(scope, receive, send)

        return handle

    return wrap
