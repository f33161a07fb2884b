"""Stand-ins for the few kinds of a host cluster that this server touches:
namespaces, nodes, pods, events, claims, leases. Served by the same registry, so that `kubectl` works on them;
only the fields that matter here are declared.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from apiserver.machinery.field import FieldError, Path, invalid, required
from apiserver.machinery.model import APIModel, ListMap, PreserveUnknown
from apiserver.machinery.resource import Resource, Version
from apiserver.machinery.strategy import Strategy
from apiserver.machinery.table import AGE, Column
from apiserver.simulator.binding import bind

Object = dict[str, Any]
Unknown = Annotated[dict[str, Any], PreserveUnknown]

NAMESPACE_FINALIZER = "kubernetes"


class Condition(APIModel):
    """A condition of a pod or node."""

    type: str = Field(description="What the condition is about.")
    status: str = Field(description="True, False or Unknown.")
    reason: str | None = Field(default=None, description="Why, for programs.")
    message: str | None = Field(default=None, description="Why, for people.")
    last_transition_time: str | None = Field(default=None, description="When the status last changed.")
    last_heartbeat_time: str | None = Field(default=None, description="When the kubelet last reported.")
    last_probe_time: str | None = Field(default=None, description="When the condition was last probed.")
    observed_generation: int | None = Field(default=None, description="The generation that was judged.")


class NamespaceSpec(APIModel):
    """What holds a namespace."""

    finalizers: list[str] | None = Field(default=None, description="Who has to clean up before it goes.")


class NamespaceStatus(APIModel):
    """Where a namespace stands."""

    phase: str | None = Field(default=None, description="Active or Terminating.")


class Namespace(APIModel):
    """A scope for names."""

    spec: NamespaceSpec | None = Field(default=None, description="What holds the namespace.")
    status: NamespaceStatus | None = Field(default=None, description="Where the namespace stands.")


class NodeSpec(APIModel):
    """What is wanted of a node."""

    unschedulable: bool | None = Field(default=None, description="Whether new pods are kept away.")
    taints: list[Unknown] | None = Field(default=None, description="What pods have to tolerate.")
    provider_id: Annotated[str | None, Field(alias="providerID")] = Field(
        default=None, alias="providerID", description="The node's name in its cloud."
    )


class NodeStatus(APIModel):
    """What a node has and how it is."""

    capacity: Unknown | None = Field(default=None, description="All that the node has.")
    allocatable: Unknown | None = Field(default=None, description="What is offered to pods.")
    conditions: Annotated[list[Condition], ListMap("type")] | None = Field(
        default=None, description="How the node is."
    )
    addresses: list[Unknown] | None = Field(default=None, description="Where the node can be reached.")
    node_info: Unknown | None = Field(default=None, description="Versions of what runs on the node.")


class Node(APIModel):
    """A machine."""

    spec: NodeSpec | None = Field(default=None, description="What is wanted of the node.")
    status: NodeStatus | None = Field(default=None, description="What the node has and how it is.")


class PodStatus(APIModel):
    """Where a pod stands."""

    phase: str | None = Field(default=None, description="Pending, Running, Succeeded, Failed or Unknown.")
    reason: str | None = Field(default=None, description="Why, for programs.")
    message: str | None = Field(default=None, description="Why, for people.")
    conditions: Annotated[list[Condition], ListMap("type")] | None = Field(
        default=None, description="How the pod is."
    )
    container_statuses: list[Unknown] | None = Field(default=None, description="How its containers are.")
    start_time: str | None = Field(default=None, description="When the kubelet took the pod.")
    pod_ip: Annotated[str | None, Field(alias="podIP")] = Field(
        default=None, alias="podIP", description="The pod's address."
    )
    host_ip: Annotated[str | None, Field(alias="hostIP")] = Field(
        default=None, alias="hostIP", description="The node's address."
    )


class Pod(APIModel):
    """Containers that run together on one node."""

    spec: Unknown = Field(description="What to run; kept as it is.")
    status: PodStatus | None = Field(default=None, description="Where the pod stands.")


class Event(APIModel):
    """Something that happened to an object."""

    involved_object: Unknown = Field(default_factory=dict, description="What it happened to.")
    reason: str | None = Field(default=None, description="What happened, for programs.")
    message: str | None = Field(default=None, description="What happened, for people.")
    type: str | None = Field(default=None, description="Normal or Warning.")
    source: Unknown | None = Field(default=None, description="Who says so.")
    first_timestamp: str | None = Field(default=None, description="When it happened first.")
    last_timestamp: str | None = Field(default=None, description="When it happened last.")
    count: int | None = Field(default=None, description="How often it happened.")
    event_time: str | None = Field(default=None, description="When it happened, in microseconds.")
    action: str | None = Field(default=None, description="What was done.")
    reporting_component: str | None = Field(default=None, description="Which controller says so.")
    reporting_instance: str | None = Field(default=None, description="Which instance of it.")
    related: Unknown | None = Field(default=None, description="Another object that it is about.")
    series: Unknown | None = Field(default=None, description="The series that it belongs to.")


class Claim(APIModel):
    """A wish for storage."""

    spec: Unknown | None = Field(default=None, description="What is wanted; kept as it is.")
    status: Unknown | None = Field(default=None, description="What was given.")


class Lease(APIModel):
    """A lock with an expiry."""

    spec: Unknown | None = Field(default=None, description="Who holds it, and for how long.")


class NamespaceStrategy(Strategy):
    """A namespace is Active until it is deleted, and goes when it is empty."""

    allow_unconditional_update = True

    def prepare_for_create(self, obj: Object) -> None:
        """A new namespace is Active, and held until it is empty."""
        obj["spec"] = {"finalizers": [NAMESPACE_FINALIZER]}
        obj["status"] = {"phase": "Active"}
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
        obj["metadata"].setdefault("finalizers", []).append(NAMESPACE_FINALIZER)


class PodStrategy(Strategy):
    """A pod is Pending until a kubelet says otherwise."""

    allow_unconditional_update = True

    def prepare_for_create(self, obj: Object) -> None:
        """A new pod is Pending."""
        obj["status"] = {"phase": "Pending"}

    def validate(self, obj: Object) -> list[FieldError]:
        """A pod has containers, and these have names: what the simulated kubelet relies on."""
        path, containers = Path("spec").child("containers"), obj["spec"].get("containers")
        if not containers:
            return [required(path)]
        if not isinstance(containers, list):
            return [invalid(path, containers, "must be a list")]
        return [
            required(path.index(index).child("name"))
            for index, item in enumerate(containers)
            if not isinstance(item, dict) or not isinstance(item.get("name"), str)
        ]


class Unconditional(Strategy):
    """Built-in kinds may be overwritten without a resourceVersion."""

    allow_unconditional_update = True


def _status(obj: Object, key: str) -> Any:
    return (obj.get("status") or {}).get(key)


def _node_ready(obj: Object) -> str:
    conditions = {item["type"]: item["status"] for item in _status(obj, "conditions") or ()}
    ready = "Ready" if conditions.get("Ready") == "True" else "NotReady"
    cordoned = (obj.get("spec") or {}).get("unschedulable")
    return f"{ready},SchedulingDisabled" if cordoned else ready


def _gpus(obj: Object) -> str:
    capacity = _status(obj, "capacity") or {}
    found = [f"{count} {name}" for name, count in capacity.items() if "/" in name]
    return ", ".join(found) or "0"


def _involved(obj: Object) -> str:
    involved = obj.get("involvedObject") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def _pod_ready(obj: Object) -> str:
    statuses = _status(obj, "containerStatuses") or ()
    total = len((obj.get("spec") or {}).get("containers") or ())
    return f"{sum(1 for item in statuses if item.get('ready'))}/{total}"


def _pod_state(obj: Object) -> str:
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return _status(obj, "reason") or _status(obj, "phase") or "Pending"


NAMESPACES = Resource(
    group="",
    kind="Namespace",
    plural="namespaces",
    versions=(
        Version(
            "v1",
            Namespace,
            (
                Column("Status", lambda obj: _status(obj, "phase"), description="Active or Terminating."),
                AGE,
            ),
        ),
    ),
    storage_version="v1",
    namespaced=False,
    short_names=("ns",),
    strategy=NamespaceStrategy(),
    selectable_fields=("status.phase",),
)

NODES = Resource(
    group="",
    kind="Node",
    plural="nodes",
    versions=(
        Version(
            "v1",
            Node,
            (
                Column("Status", _node_ready, description="Whether the node takes pods."),
                Column("GPUs", _gpus, description="The accelerators of the node."),
                Column(
                    "Product",
                    lambda obj: (obj["metadata"].get("labels") or {}).get("nvidia.com/gpu.product"),
                    description="The product of its GPUs.",
                ),
                AGE,
            ),
        ),
    ),
    storage_version="v1",
    namespaced=False,
    short_names=("no",),
    strategy=Unconditional(),
    selectable_fields=("spec.unschedulable",),
)

PODS = Resource(
    group="",
    kind="Pod",
    plural="pods",
    versions=(
        Version(
            "v1",
            Pod,
            (
                Column("Ready", _pod_ready, description="Containers that are ready."),
                Column("Status", _pod_state, description="Where the pod stands."),
                AGE,
                Column(
                    "Node",
                    lambda obj: (obj.get("spec") or {}).get("nodeName"),
                    description="The node that the pod is bound to.",
                ),
            ),
        ),
    ),
    storage_version="v1",
    short_names=("po",),
    categories=("all",),
    strategy=PodStrategy(),
    selectable_fields=(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
    ),
    actions={"binding": bind},
)

EVENTS = Resource(
    group="",
    kind="Event",
    plural="events",
    versions=(
        Version(
            "v1",
            Event,
            (
                Column(
                    "Last Seen",
                    lambda obj: obj.get("lastTimestamp") or obj["metadata"].get("creationTimestamp"),
                    type="date",
                    description="How long ago it happened last.",
                ),
                Column("Type", lambda obj: obj.get("type"), description="Normal or Warning."),
                Column("Reason", lambda obj: obj.get("reason"), description="What happened, for programs."),
                Column(
                    "Object",
                    _involved,
                    description="What it happened to.",
                ),
                Column("Message", lambda obj: obj.get("message"), description="What happened, for people."),
            ),
        ),
    ),
    storage_version="v1",
    short_names=("ev",),
    status=False,
    strategy=Unconditional(),
    selectable_fields=(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
)

CLAIMS = Resource(
    group="",
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    versions=(Version("v1", Claim),),
    storage_version="v1",
    short_names=("pvc",),
    strategy=Unconditional(),
)

LEASES = Resource(
    group="coordination.k8s.io",
    kind="Lease",
    plural="leases",
    versions=(Version("v1", Lease),),
    storage_version="v1",
    status=False,
    strategy=Unconditional(),
)

CORE_RESOURCES: tuple[Resource, ...] = (NAMESPACES, NODES, PODS, EVENTS, CLAIMS, LEASES)
"""Everything that the simulated host cluster serves."""
