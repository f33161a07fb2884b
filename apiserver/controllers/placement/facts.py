"""Reads what placement needs from core/v1 nodes and pods: amounts, products, zones, obstacles. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from apiserver.controllers.placement.model import Accelerators, NodeFacts, Taint, Toleration
from apiserver.controllers.placement.quantity import milli, whole

Object = dict[str, Any]

ZONE_LABEL = "topology.kubernetes.io/zone"
PRODUCT_LABELS = ("{domain}/gpu.product", "{domain}/gpu.product-name", "cloud.google.com/gke-accelerator")
"""Node labels that name the product, of NVIDIA's and AMD's feature discovery and of GKE;
the first one wins."""
ACCELERATORS = (
    "*/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-*",
    "gpu.intel.com/*",
    "habana.ai/gaudi",
    "google.com/tpu",
    "aws.amazon.com/neuron*",
)
"""Extended resources that count as accelerators, as shell patterns."""
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True, slots=True)
class PodUse:
    """What a pod takes from its node. `accelerators` maps resources to counts."""

    cpu: int = 0
    memory: int = 0
    accelerators: Mapping[str, int] = field(default_factory=dict)


def is_accelerator(resource: str) -> bool:
    """Whether an extended resource is one that the ledger keeps account of."""
    return "/" in resource and any(fnmatchcase(resource, pattern) for pattern in ACCELERATORS)


def amounts(node: Object, kind: str) -> dict[str, int]:
    """The accelerators in `capacity` or `allocatable` of a node."""
    listed = (node.get("status") or {}).get(kind) or {}
    return {name: whole(value) for name, value in listed.items() if is_accelerator(name)}


def product_of(node: Object, resource: str) -> str:
    """The product of a node's accelerators; "" if no label says it."""
    labels = node["metadata"].get("labels") or {}
    domain = resource.partition("/")[0]
    for pattern in PRODUCT_LABELS:
        value = labels.get(pattern.format(domain=domain))
        if value:
            return str(value)
    return ""


def is_ready(node: Object) -> bool:
    """Whether the node's kubelet says that it is ready."""
    condition = ready_condition(node)
    return condition is not None and condition.get("status") == "True"


def ready_condition(node: Object) -> Object | None:
    """The node's Ready condition."""
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            found: Object = condition
            return found
    return None


def obstacle_of(node: Object) -> str:
    """Why nothing may be placed on a node, in the words of the explanation; "" if it may."""
    if node["metadata"].get("deletionTimestamp"):
        return "being deleted"
    if not is_ready(node):
        return "not ready"
    return "unschedulable" if (node.get("spec") or {}).get("unschedulable") else ""


def node_facts(node: Object, accelerators: Mapping[str, Accelerators]) -> NodeFacts:
    """The facts of a node; `accelerators` come from the ledger."""
    status = node.get("status") or {}
    allocatable = status.get("allocatable") or {}
    labels = node["metadata"].get("labels") or {}
    taints = (node.get("spec") or {}).get("taints") or ()
    return NodeFacts(
        name=node["metadata"]["name"],
        zone=labels.get(ZONE_LABEL, ""),
        labels=labels,
        taints=tuple(
            Taint(taint.get("key", ""), taint.get("value") or "", taint.get("effect", ""))
            for taint in taints
            if taint.get("key") != UNSCHEDULABLE_TAINT
        ),
        obstacle=obstacle_of(node),
        cpu=milli(allocatable.get("cpu", 0)),
        memory=whole(allocatable.get("memory", 0)),
        pods=whole(allocatable.get("pods", 110)),
        accelerators=accelerators,
    )


def tolerations_of(listed: Iterable[Object]) -> tuple[Toleration, ...]:
    """Tolerations of core/v1."""
    return tuple(
        Toleration(
            item.get("key") or "",
            item.get("operator") or "Equal",
            item.get("value") or "",
            item.get("effect") or "",
        )
        for item in listed
    )


def pod_use(pod: Object) -> PodUse:
    """What a pod requests: the larger of its containers together and of any one init container, plus
    overhead. Sidecars (init containers that restart always) run beside the containers."""
    spec = pod.get("spec") or {}
    running = PodUse()
    peak = PodUse()
    for container in spec.get("initContainers") or ():
        own = _container_use(container)
        if container.get("restartPolicy") == "Always":
            running = _plus(running, own)
            peak = _larger(peak, running)
        else:
            peak = _larger(peak, _plus(running, own))
    for container in spec.get("containers") or ():
        running = _plus(running, _container_use(container))
    overhead = _use(spec.get("overhead") or {})
    return _plus(_larger(peak, running), overhead)


def is_terminal(pod: Object) -> bool:
    """Whether all containers of a pod have ended for good: it holds no devices any more."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _container_use(container: Object) -> PodUse:
    resources = container.get("resources") or {}
    return _use({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _use(requests: Mapping[str, Any]) -> PodUse:
    held = {name: whole(value) for name, value in requests.items() if is_accelerator(name)}
    return PodUse(milli(requests.get("cpu", 0)), whole(requests.get("memory", 0)), held)


def _plus(one: PodUse, other: PodUse) -> PodUse:
    names = one.accelerators.keys() | other.accelerators.keys()
    held = {name: one.accelerators.get(name, 0) + other.accelerators.get(name, 0) for name in names}
    return PodUse(one.cpu + other.cpu, one.memory + other.memory, held)


def _larger(one: PodUse, other: PodUse) -> PodUse:
    names = one.accelerators.keys() | other.accelerators.keys()
    held = {name: max(one.accelerators.get(name, 0), other.accelerators.get(name, 0)) for name in names}
    return PodUse(max(one.cpu, other.cpu), max(one.memory, other.memory), held)
