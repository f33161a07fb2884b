"""What `kubectl get` prints of the group's objects. Objects may lack a status."""

from __future__ import annotations

from typing import Any

from apiserver.apis.ai.conversion import v1alpha1_to_v1
from apiserver.machinery.table import AGE, Column

Object = dict[str, Any]

_NAMES_SHOWN = 2


def _spec(obj: Object, key: str) -> Any:
    return (obj.get("spec") or {}).get(key)


def _status(obj: Object, key: str) -> Any:
    return (obj.get("status") or {}).get(key)


def _phase(obj: Object) -> str:
    return _status(obj, "phase") or "Pending"


def _gpus(obj: Object) -> int:
    return int((_spec(obj, "replicas") or 1) * (_spec(obj, "gpuCount") or 1))


def _ready(obj: Object) -> str:
    return f"{_status(obj, 'readyReplicas') or 0}/{_spec(obj, 'replicas') or 1}"


def _nodes(obj: Object) -> str | None:
    """The first nodes by replica, each once, and how many more there are."""
    names = list(dict.fromkeys(placement["node"] for placement in _status(obj, "placements") or ()))
    more = len(names) - _NAMES_SHOWN
    listed = ",".join(names[:_NAMES_SHOWN]) or None
    return f"{listed} +{more}" if more > 0 else listed


def _products(obj: Object) -> str:
    return ",".join(_spec(obj, "gpuProducts") or ()) or "any"


def _held(obj: Object) -> int:
    return sum(allocation["count"] for allocation in _status(obj, "allocations") or ())


def _through_v1(column: Column) -> Column:
    """The same column for v1alpha1 objects. Its JSON path is gone: it would be one of v1."""
    return Column(
        column.name,
        lambda obj: column.cell(v1alpha1_to_v1(obj)),
        column.type,
        column.format,
        column.priority,
        column.description,
        column.json_path if not column.json_path.startswith(".spec.gpu") else "",
    )


INFERENCE_JOB = (
    Column("Phase", _phase, description="Where the job stands.", json_path=".status.phase"),
    Column(
        "GPUs",
        _gpus,
        "integer",
        description="GPUs that the whole gang needs: replicas times GPUs of each.",
        json_path=".spec.gpuCount",
    ),
    Column(
        "Ready", _ready, description="Ready replicas and wanted replicas.", json_path=".status.readyReplicas"
    ),
    Column(
        "Nodes", _nodes, description="Nodes that hold the replicas.", json_path=".status.placements[*].node"
    ),
    AGE,
    Column(
        "Image", lambda obj: _spec(obj, "image"), priority=1, description="Image.", json_path=".spec.image"
    ),
    Column(
        "Products", _products, priority=1, description="Acceptable products.", json_path=".spec.gpuProducts"
    ),
    Column(
        "Attempts",
        lambda obj: _status(obj, "attempts") or 0,
        "integer",
        priority=1,
        description="Number of times the job was started.",
        json_path=".status.attempts",
    ),
    Column(
        "Message",
        lambda obj: _status(obj, "message"),
        priority=1,
        description="What the job waits for, or what went wrong.",
        json_path=".status.message",
    ),
)
"""Columns of v1 inference jobs; those with priority 1 are printed with `-o wide`."""

INFERENCE_JOB_V1ALPHA1 = tuple(_through_v1(column) for column in INFERENCE_JOB)
"""The same columns for v1alpha1."""

GPU_NODE = (
    Column(
        "Node",
        lambda obj: _status(obj, "node"),
        priority=1,
        description="Name of the node.",
        json_path=".status.node",
    ),
    Column(
        "Product",
        lambda obj: _status(obj, "product"),
        description="Product of the GPUs.",
        json_path=".status.product",
    ),
    Column(
        "Capacity",
        lambda obj: _status(obj, "capacity") or 0,
        "integer",
        description="GPUs in the node.",
        json_path=".status.capacity",
    ),
    Column(
        "Held", _held, "integer", description="GPUs held by jobs.", json_path=".status.allocations[*].count"
    ),
    Column(
        "Foreign",
        lambda obj: _status(obj, "foreign") or 0,
        "integer",
        description="GPUs held by pods that this server did not place.",
        json_path=".status.foreign",
    ),
    Column(
        "Free",
        lambda obj: _status(obj, "free") or 0,
        "integer",
        description="GPUs that a job could get.",
        json_path=".status.free",
    ),
    AGE,
    Column(
        "Resource",
        lambda obj: _status(obj, "resource"),
        priority=1,
        description="Extended resource that is counted.",
        json_path=".status.resource",
    ),
    Column(
        "Allocatable",
        lambda obj: _status(obj, "allocatable") or 0,
        "integer",
        priority=1,
        description="GPUs that are healthy and offered to pods.",
        json_path=".status.allocatable",
    ),
)
"""Columns of GPU nodes: the map of the fleet."""
