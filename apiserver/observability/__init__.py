"""How the server tells what it does: logs and metrics."""

from prometheus_client import disable_created_metrics

# A second series for each metric, which Kubernetes does not have; to be said before the first one is made.
disable_created_metrics()  # type: ignore[no-untyped-call]
