"""An InferenceJob as the controller reads it, once per reconciliation. Read-only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from apiserver.controllers.clock import parse_timestamp
from apiserver.controllers.conditions import find, is_true
from apiserver.controllers.inferencejob import names
from apiserver.controllers.store import key_of

Object = dict[str, Any]


@dataclass(frozen=True)
class JobView:
    """See the module."""

    obj: Object

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return key_of(self.obj)

    @property
    def namespace(self) -> str:
        """The namespace."""
        return str(self.obj["metadata"]["namespace"])

    @property
    def name(self) -> str:
        """The name."""
        return str(self.obj["metadata"]["name"])

    @property
    def uid(self) -> str:
        """The UID."""
        return str(self.obj["metadata"]["uid"])

    @property
    def generation(self) -> int:
        """The generation of the spec."""
        return int(self.obj["metadata"].get("generation") or 0)

    @property
    def spec(self) -> Object:
        """The spec."""
        spec: Object = self.obj["spec"]
        return spec

    @property
    def status(self) -> Object:
        """The status; {} if there is none."""
        return self.obj.get("status") or {}

    @property
    def replicas(self) -> int:
        """The size of the gang."""
        return int(self.spec.get("replicas", 1))

    @property
    def gpus(self) -> int:
        """GPUs of each replica."""
        return int(self.spec.get("gpuCount", 1))

    @property
    def resource(self) -> str:
        """The extended resource that is counted."""
        return str(self.spec.get("gpuResource") or "nvidia.com/gpu")

    @property
    def priority(self) -> int:
        """Higher goes first."""
        return int(self.spec.get("priority") or 0)

    @property
    def restart_policy(self) -> str:
        """OnFailure, Never or Always."""
        return str(self.spec.get("restartPolicy") or "OnFailure")

    @property
    def backoff_limit(self) -> int:
        """How many failures are forgiven."""
        return int(self.spec.get("backoffLimit", 3))

    @property
    def suspended(self) -> bool:
        """Whether the job is to be held without GPUs."""
        return bool(self.spec.get("suspend"))

    @property
    def deleting(self) -> bool:
        """Whether the job is being deleted."""
        return bool(self.obj["metadata"].get("deletionTimestamp"))

    @property
    def holds_finalizer(self) -> bool:
        """Whether our finalizer is on it."""
        return names.FINALIZER in (self.obj["metadata"].get("finalizers") or ())

    @property
    def conditions(self) -> list[Object]:
        """The conditions."""
        return self.status.get("conditions") or []

    @property
    def finished(self) -> bool:
        """Whether it has ended, well or not."""
        return is_true(self.conditions, names.COMPLETE) or is_true(self.conditions, names.FAILED)

    @property
    def failures(self) -> int:
        """Failed attempts so far."""
        return max(int(self.status.get("attempts") or 0) - 1, 0)

    @cached_property
    def created(self) -> datetime:
        """When it was made: its place in the queue."""
        return parse_timestamp(self.obj["metadata"]["creationTimestamp"])

    @cached_property
    def placements(self) -> dict[int, Object]:
        """The placements in the status, by replica."""
        return {int(item["replica"]): item for item in self.status.get("placements") or ()}

    @property
    def holding(self) -> bool:
        """Whether any replica holds GPUs. Replicas that have succeeded keep a placement without GPUs."""
        return any(item.get("gpus") for item in self.placements.values())

    @property
    def completed(self) -> set[int]:
        """Replicas that have succeeded; their GPUs have been given back."""
        return {replica for replica, item in self.placements.items() if not item.get("gpus")}

    @property
    def releasing(self) -> bool:
        """Whether the whole gang is giving its GPUs back."""
        scheduled = find(self.conditions, names.SCHEDULED)
        return (
            scheduled is not None
            and scheduled.get("status") == "False"
            and scheduled.get("reason") in names.RELEASING
            and self.holding
        )

    @property
    def blocked(self) -> bool:
        """Whether a terminal error waits for a new generation."""
        degraded = find(self.conditions, names.DEGRADED)
        return (
            degraded is not None
            and degraded.get("status") == "True"
            and degraded.get("reason") == names.Reason.INVALID_POD
            and degraded.get("observedGeneration") == self.generation
        )

    @property
    def missing(self) -> list[int]:
        """The replicas that have no place."""
        return [replica for replica in range(self.replicas) if replica not in self.placements]

    def pod_name(self, replica: int) -> str:
        """The pod of a replica: always the same, so that there is never a second one."""
        return f"{self.name}-{replica}"
