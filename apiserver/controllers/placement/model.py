"""The values that placement works on. GPUs are counted in whole numbers,
CPU in thousandths, memory in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """A taint of a node, as core/v1 has it. Only NoSchedule and NoExecute keep replicas away."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration, as core/v1 has it."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether it matches: an empty effect matches every effect, an empty key with Exists every taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key != taint.key and not (self.key == "" and self.operator == "Exists"):
            return False
        return self.operator == "Exists" or self.value == taint.value


@dataclass(frozen=True, slots=True)
class Demand:
    """What each replica of a job needs. Jobs with equal demands are interchangeable for the filter."""

    resource: str
    gpus: int
    products: tuple[str, ...] = ()
    cpu: int = 0
    memory: int = 0
    selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    def __post_init__(self) -> None:
        if self.gpus < 1:
            raise ValueError("a replica needs at least one GPU")


@dataclass(frozen=True, slots=True)
class Accelerators:
    """The accelerators of one kind in a node: `usable` are healthy, offered, and not held by foreign pods."""

    product: str
    usable: int


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node is, whoever uses it.
    `obstacle` says why nothing at all may be placed on it ("" if it may)."""

    name: str
    zone: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    obstacle: str = ""
    cpu: int = 0
    memory: int = 0
    pods: int = 0
    accelerators: Mapping[str, Accelerators] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """What is in use on a node beside GPUs."""

    cpu: int = 0
    memory: int = 0
    pods: int = 0


Assignment = tuple[tuple[str, int], ...]
"""How many replicas go to which node, in the order of choice."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A job (or what is missing of a gang) that waits. `since` orders jobs of one priority, in seconds of
    any clock; `healing` marks a gang that runs and has lost replicas: it holds GPUs idle, so it goes before
    its equals."""

    key: str
    demand: Demand
    replicas: int
    priority: int = 0
    since: float = 0.0
    healing: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """A placed job, as preemption sees it."""

    key: str
    demand: Demand
    assignment: Assignment
    priority: int = 0
    since: float = 0.0
