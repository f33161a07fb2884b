"""Counts and times every request, and logs it at `-v=3`.

It stands before authentication, so that refusals are counted too. Labels must be bounded whoever asks: only
resources and paths that are served appear by name. Names and meanings are those of
`k8s.io/apiserver/pkg/endpoints/metrics.MonitorRequest`.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import structlog
from prometheus_client import Counter, Gauge, Histogram
from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.endpoints.request import SCOPE_KEY, Request, RequestInfo
from apiserver.endpoints.request_info import is_long_running
from apiserver.machinery.errors import APIError
from apiserver.observability import http_metrics
from apiserver.observability.logging import ACCESS_LOG_LEVEL, verbosity
from apiserver.server.filters import Filter
from apiserver.server.filters.panic_guard import unwrapped

_log = structlog.get_logger()

_APPLY = b"application/apply-patch+yaml"
_VERBS = frozenset({"APPLY", "DELETE", "GET", "LIST", "PATCH", "POST", "PUT", "WATCH"})
_CLIENT_GONE = 499
_CACHED_LABELS = 1024


class Served(NamedTuple):
    """What may appear in labels: (group, version, resource) triples, subresources, and plain paths."""

    resources: Collection[tuple[str, str, str]] = frozenset()
    subresources: Collection[str] = frozenset()
    paths: Collection[str] = frozenset()


class Labels(NamedTuple):
    """The labels that all request metrics share, in the order in which they are declared."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    component: str = http_metrics.COMPONENT


def instrument(served: Served) -> Filter:
    """Record each request: how it ended, how long it took, how much was sent."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            request: Request = scope[SCOPE_KEY]
            labels = labels_of(request, served)
            code = 0
            # Not the loop's clock, which may be coarse: uvloop's ticks in milliseconds.
            started = time.perf_counter()
            running = _longrunning(labels) if is_long_running(request.info) else None
            if running is not None:
                running.inc()
            try:
                await app(scope, receive, send)
            except Exception as error:
                code = _code_of(unwrapped(error))
                raise
            finally:
                if running is not None:
                    running.dec()
                seconds = time.perf_counter() - started
                _record(request, labels, code or request.status_code or _CLIENT_GONE, seconds)
                if verbosity() >= ACCESS_LOG_LEVEL:
                    _log_access(scope, request, code or request.status_code, seconds)

        return handle

    return wrap


def _code_of(error: Exception) -> int:
    if isinstance(error, APIError):
        return error.code
    return 504 if isinstance(error, TimeoutError) else 500


def labels_of(request: Request, served: Served) -> Labels:
    """The labels of a request; what is not served is left out of them."""
    info = request.info
    scope = _scope(info)
    verb = _verb(request, scope)
    if not info.is_resource_request:
        return Labels(verb, subresource=info.path if info.path in served.paths else "", scope=scope)
    if (info.group, info.version, info.resource) not in served.resources:
        return Labels(verb, scope=scope)
    subresource = info.subresource if info.subresource in served.subresources else ""
    return Labels(verb, info.group, info.version, info.resource, subresource, scope)


def _scope(info: RequestInfo) -> str:
    if info.name or info.verb == "create":
        return "resource"
    if info.namespace:
        return "namespace"
    return "cluster" if info.is_resource_request else ""


def _verb(request: Request, scope: str) -> str:
    info = request.info
    if info.verb == "watch":
        return "WATCH"
    if info.method in {"GET", "HEAD"}:
        return "GET" if scope in {"resource", ""} else "LIST"
    if info.method == "PATCH" and request.headers.get(b"content-type") == _APPLY:
        return "APPLY"
    return info.method if info.method in _VERBS else "other"


def _dry_run(request: Request) -> str:
    values = request.query.get("dryRun")
    if not values:
        return ""
    return "All" if set(values) == {"All"} else "invalid"


def _record(request: Request, labels: Labels, code: int, seconds: float) -> None:
    dry_run = _dry_run(request)
    _counter(labels, dry_run, code).inc()
    if request.response_started and request.status_code != code:
        http_metrics.ABORTS.labels(*labels[:-1]).inc()
    if code in {429, 504}:
        http_metrics.TERMINATIONS.labels(*labels, str(code)).inc()
    _durations(labels, dry_run).observe(seconds)
    if labels.verb in {"GET", "LIST"}:
        _sizes(labels).observe(request.response_bytes)


# Looking a labelled series up costs more than counting, so the few that are in use are kept at hand.


@lru_cache(maxsize=_CACHED_LABELS)
def _counter(labels: Labels, dry_run: str, code: int) -> Counter:
    verb, *rest = labels
    return http_metrics.REQUESTS.labels(verb, dry_run, *rest, str(code))


@lru_cache(maxsize=_CACHED_LABELS)
def _durations(labels: Labels, dry_run: str) -> Histogram:
    verb, *rest = labels
    return http_metrics.DURATIONS.labels(verb, dry_run, *rest)


@lru_cache(maxsize=_CACHED_LABELS)
def _sizes(labels: Labels) -> Histogram:
    return http_metrics.RESPONSE_SIZES.labels(*labels)


@lru_cache(maxsize=_CACHED_LABELS)
def _longrunning(labels: Labels) -> Gauge:
    return http_metrics.LONG_RUNNING.labels(*labels)


def _log_access(scope: Scope, request: Request, code: int, seconds: float) -> None:
    client = scope.get("client")
    user = request.user
    _log.info(
        "HTTP",
        verb=request.info.verb,
        path=request.info.path,
        query=scope["query_string"].decode("latin-1"),
        resp=code,
        bytes=request.response_bytes,
        seconds=round(seconds, 6),
        user=user.name if user else "",
        impersonator=request.impersonator.name if request.impersonator else None,
        user_agent=request.user_agent,
        source=client[0] if client else "",
        audit_id=request.audit_id,
    )
