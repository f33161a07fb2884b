"""The metrics of controllers, under the names that client-go's workqueue and controller-runtime use, so that
existing dashboards and alerts work."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_QUEUE_BUCKETS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000)

queue_depth = Gauge("workqueue_depth", "Keys that wait in the queue", ["name"])
queue_adds = Counter("workqueue_adds", "Keys added to the queue", ["name"])
queue_retries = Counter("workqueue_retries", "Keys added again after a failure", ["name"])
queue_wait = Histogram(
    "workqueue_queue_duration_seconds",
    "How long keys wait in the queue before work starts",
    ["name"],
    buckets=_QUEUE_BUCKETS,
)
queue_work = Histogram(
    "workqueue_work_duration_seconds", "How long work on a key takes", ["name"], buckets=_QUEUE_BUCKETS
)
queue_unfinished = Gauge(
    "workqueue_unfinished_work_seconds", "Seconds of work under way that no duration shows yet", ["name"]
)
queue_longest = Gauge(
    "workqueue_longest_running_processor_seconds", "How long the longest work under way has taken", ["name"]
)

reconcile_total = Counter(
    "controller_runtime_reconcile", "Reconciliations by result", ["controller", "result"]
)
reconcile_errors = Counter("controller_runtime_reconcile_errors", "Failed reconciliations", ["controller"])
reconcile_terminal_errors = Counter(
    "controller_runtime_terminal_reconcile_errors", "Reconciliations that ended for good", ["controller"]
)
reconcile_timeouts = Counter(
    "controller_runtime_reconcile_timeouts", "Reconciliations cut off by the time limit", ["controller"]
)
reconcile_time = Histogram(
    "controller_runtime_reconcile_time_seconds",
    "How long a reconciliation takes",
    ["controller"],
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
active_workers = Gauge("controller_runtime_active_workers", "Workers that are busy", ["controller"])
max_workers = Gauge("controller_runtime_max_concurrent_reconciles", "Workers there are", ["controller"])

conflicts = Counter(
    "inference_controller_conflicts", "Writes that met another write and were decided anew", ["controller"]
)
forbidden = Counter(
    "inference_controller_forbidden", "Requests to the host that RBAC refused", ["controller"]
)
informer_relists = Counter("inference_informer_relists", "Lists done by informers", ["name", "cause"])
informer_state = Gauge("inference_informer_synced", "Whether the informer has a picture", ["name"])
events_dropped = Counter("inference_events_dropped", "Events not written, by cause", ["cause"])
leader = Gauge("leader_election_master_status", "Whether this process leads", ["name"])

placements = Counter("inference_placements", "Decisions of the placement loop by result", ["result"])
placement_cycle = Histogram("inference_placement_cycle_seconds", "How long a placement cycle takes")
jobs_pending = Gauge("inference_jobs_pending", "InferenceJobs that wait for GPUs")
