"""The handler chain, as a list to be read from the top: what happens to every request before it is answered.

The order is that of kube-apiserver (`DefaultBuildHandlerChain`), but for one thing:
requests are counted before authentication, so that refusals and time-outs appear in the metrics,
with labels that strangers cannot invent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.auth.authorizer import Authorizer
from apiserver.auth.configmap import RequestHeaderConfig
from apiserver.auth.request import Authenticator
from apiserver.endpoints.request import SCOPE_KEY
from apiserver.server.filters import Filter
from apiserver.server.filters.authenticate import authenticate
from apiserver.server.filters.authorize import authorize
from apiserver.server.filters.begin import begin
from apiserver.server.filters.drain import drain
from apiserver.server.filters.impersonate import impersonate
from apiserver.server.filters.inflight import limit_in_flight
from apiserver.server.filters.instrument import Served, instrument
from apiserver.server.filters.panic_guard import panic_guard
from apiserver.server.filters.readiness import not_found_only_when_ready
from apiserver.server.filters.request_info import read_request_info
from apiserver.server.filters.timeout import limit_time
from apiserver.server.lifecycle import Lifecycle


@dataclass(frozen=True)
class ChainConfig:
    """What the filters need to know. Times are in seconds; a limit of 0 is no limit.

    `is_complete` says whether all paths have been installed and start-up is over; `front_proxy` gives the
    names of the headers in which the front proxy speaks for users.
    """

    authenticator: Authenticator
    authorizer: Authorizer
    lifecycle: Lifecycle
    is_complete: Callable[[], bool] = lambda: True
    front_proxy: Callable[[], RequestHeaderConfig | None] = lambda: None
    served: Served = field(default_factory=Served)
    request_timeout: float = 60.0
    max_reading: int = 400
    max_mutating: int = 200


def filters(config: ChainConfig) -> Sequence[Filter]:
    """The filters, the outermost one first."""
    return (
        begin(),  # Audit-ID; what is answered is noted
        panic_guard(),  # every failure below becomes a Status here, and nowhere else
        not_found_only_when_ready(config.is_complete),  # 503 instead of 404 while starting
        read_request_info(),  # what is asked, by method and path
        instrument(config.served),  # metrics, access log
        drain(config.lifecycle),  # 503 at shutdown; requests under way are waited for
        limit_time(config.request_timeout),  # 504; not for watches
        authenticate(config.authenticator, config.front_proxy),  # 401; credentials go no further
        impersonate(config.authorizer),  # 403; acting as somebody else
        limit_in_flight(config.max_reading, config.max_mutating),  # 429; not for watches
        authorize(config.authorizer),  # 403
    )


def build_chain(app: ASGIApp, config: ChainConfig) -> ASGIApp:
    """The whole application: `app` behind all filters. `app` raises APIError for what it refuses."""
    for add in reversed(filters(config)):
        app = add(app)
    return app


def split(resources: ASGIApp, status_paths: ASGIApp) -> ASGIApp:
    """What stands behind the chain: resource requests go straight to their endpoints, all else to FastAPI."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        app = resources if scope[SCOPE_KEY].info.is_resource_request else status_paths
        await app(scope, receive, send)

    return handle
