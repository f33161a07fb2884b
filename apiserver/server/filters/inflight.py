"""How many requests are served at a time: one client's burst must not take the server from everybody.

Source: `k8s.io/apiserver/pkg/server/filters.WithMaxInFlightLimit`.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.auth.user import PRIVILEGED_GROUP
from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.endpoints.request_info import is_long_running, is_probe
from apiserver.machinery import errors
from apiserver.observability import http_metrics
from apiserver.server.filters import Filter

TOO_MANY = "Too many requests, please try again later."
_READ_VERBS = frozenset({"get", "list", "watch"})
_RETRY_AFTER_SECONDS = 1


class Slots:
    """Requests of one kind that may be served at a time (0: no limit), and their recent peak."""

    def __init__(self, kind: str, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._peak = 0
        http_metrics.IN_FLIGHT.labels(kind).set_function(self._read_peak)

    @property
    def full(self) -> bool:
        """Whether no slot is left."""
        return 0 < self.limit <= self.used

    def take(self) -> None:
        """Use a slot."""
        self.used += 1
        self._peak = max(self._peak, self.used)

    def give_back(self) -> None:
        """Free a slot."""
        self.used -= 1

    def _read_peak(self) -> float:
        peak, self._peak = self._peak, self.used
        return peak


def limit_in_flight(reading: int, mutating: int) -> Filter:
    """Let at most so many requests of each kind in at a time; others get 429.

    Watches do not count, nor do health probes: a busy server is not a dead one. `system:masters` always get
    in, because they are who repairs things.
    """
    readers, writers = Slots("readOnly", reading), Slots("mutating", mutating)

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            request: Request = scope[SCOPE_KEY]
            if is_long_running(request.info) or is_probe(request.info):
                await app(scope, receive, send)
                return
            slots = readers if request.info.verb in _READ_VERBS else writers
            if slots.full and not (request.user and PRIVILEGED_GROUP in request.user.groups):
                raise errors.too_many_requests(TOO_MANY, _RETRY_AFTER_SECONDS)
            slots.take()
            try:
                await app(scope, receive, send)
            finally:
                slots.give_back()

        return handle

    return wrap
