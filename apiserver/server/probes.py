"""What /readyz and /healthz look at, beside what the controllers report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from apiserver.endpoints.health import Check, HealthChecks, UnhealthyError, event_check
from apiserver.registry.view import View
from apiserver.server.lifecycle import Lifecycle
from certs.runner import Rotator
from storage.cache import WatchCache

STALE_SECONDS = 30.0
"""Seconds without a word from storage after which it counts as unreachable."""
LEAST_VALIDITY = timedelta(hours=1)
"""How long the serving certificate must at least be valid."""


def readiness_checks(
    cache: WatchCache[View],
    rotator: Rotator,
    lifecycle: Lifecycle,
    problems: Mapping[str, Callable[[], str]],
) -> HealthChecks:
    """The checks of the server itself. Liveness is that it answers:
    a restart mends neither storage nor network."""

    async def storage() -> None:
        silent = time.monotonic() - cache.last_heard
        if silent > STALE_SECONDS:
            raise UnhealthyError(f"storage has been silent for {silent:.0f} s")

    async def certificate() -> None:
        if rotator.remaining() < LEAST_VALIDITY:
            raise UnhealthyError(rotator.problem or "the serving certificate is about to expire")

    checks = HealthChecks()
    checks.add(
        event_check("watch-cache-sync", lambda: cache.ready, "the state has not been read yet"),
        ("readyz", "healthz"),
    )
    checks.add(Check("storage", storage), ("readyz", "healthz"))
    checks.add(Check("serving-certificate", certificate), ("readyz", "healthz"))
    shutdown = event_check("shutdown", lifecycle.stopping.is_set, "shutting down", healthy_when=False)
    checks.add(shutdown, ("readyz",))
    for name, problem in problems.items():
        checks.add(_problem_check(name, problem), ("readyz", "healthz"))
    return checks


def _problem_check(name: str, problem: Callable[[], str]) -> Check:
    async def run() -> None:
        if reason := problem():
            raise UnhealthyError(reason)

    return Check(name, run)
