"""Metrics of requests under the names, labels and buckets that Kubernetes uses.

Source: `k8s.io/apiserver/pkg/endpoints/metrics`.
Dashboards and alerts written for kube-apiserver work unchanged.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_RESOURCE = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_REQUEST = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")

COMPONENT = "apiserver"

REQUESTS = Counter(
    "apiserver_request_total",
    "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, "
    "component, and HTTP response code.",
    (*_REQUEST, "code"),
)
DURATIONS = Histogram(
    "apiserver_request_duration_seconds",
    "Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
    "subresource, scope and component.",
    _REQUEST,
    buckets=(
        *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3),
        *(4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
    ),
)
RESPONSE_SIZES = Histogram(
    "apiserver_response_sizes",
    "Response size distribution in bytes for each group, version, verb, resource, subresource, scope and "
    "component.",
    _RESOURCE,
    buckets=(1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9),
)
LONG_RUNNING = Gauge(
    "apiserver_longrunning_requests",
    "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, "
    "scope and component.",
    _RESOURCE,
)
IN_FLIGHT = Gauge(
    "apiserver_current_inflight_requests",
    "Maximal number of currently used inflight request limit of this apiserver per request kind since the "
    "last reading.",
    ("request_kind",),
)
TERMINATIONS = Counter(
    "apiserver_request_terminations_total",
    "Number of requests which apiserver terminated in self-defense.",
    (*_RESOURCE, "code"),
)
ABORTS = Counter(
    "apiserver_request_aborts_total",
    "Number of requests that ended after their answer had begun, because of a time-out or a fault.",
    ("verb", "group", "version", "resource", "subresource", "scope"),
)
WATCH_EVENTS = Counter(
    "apiserver_watch_events_total",
    "Number of events sent in watch clients",
    ("group", "version", "resource"),
)
HEALTH = Gauge(
    "kubernetes_healthcheck",
    "The result of a health check, 1 or 0, by its name and the endpoint that ran it.",
    ("name", "type"),
)
