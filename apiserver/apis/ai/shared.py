"""Types that every version of the group uses, and the parts of core/v1 and meta/v1 that our types embed.

Names, limits and merge keys of the embedded parts are those of `k8s.io/api/core/v1` and `metav1.Condition`: a
value can be moved between a pod and a job as it stands. Descriptions are what `kubectl explain` prints.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from apiserver.machinery.model import APIModel, ListMap, Quantity, StructAtomic, Time

LABEL_VALUE_PATTERN = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"

Phase = Literal["Pending", "Reconciling", "Ready", "Degraded", "Terminating", "Succeeded", "Failed"]
RestartPolicy = Literal["OnFailure", "Never", "Always"]

MAX_GPUS = 1024
"""GPUs of one replica: more than any node offers, and few enough that sums stay small."""
MAX_COUNT = 2**31 - 1
"""The largest 32-bit integer: what other kinds of Kubernetes take for counts and seconds."""


class ConfigMapKeySelector(APIModel):
    """A key of a ConfigMap in the job's namespace."""

    name: str = Field(default="", description="Name of the ConfigMap.")
    key: str = Field(description="Key whose value is taken.")
    optional: bool | None = Field(
        default=None, description="Whether the pod may start while the ConfigMap or the key is missing."
    )


class SecretKeySelector(APIModel):
    """A key of a Secret in the job's namespace."""

    name: str = Field(default="", description="Name of the Secret.")
    key: str = Field(description="Key whose value is taken.")
    optional: bool | None = Field(
        default=None, description="Whether the pod may start while the Secret or the key is missing."
    )


class ObjectFieldSelector(APIModel):
    """A field of the pod that runs the replica."""

    api_version: str | None = Field(
        default=None, description="Version in which the path is written; v1 if not set."
    )
    field_path: str = Field(description="Path of the field, such as metadata.name or status.hostIP.")


class ResourceFieldSelector(APIModel):
    """A resource request or limit of a container."""

    container_name: str | None = Field(default=None, description="Container whose resources are read.")
    resource: str = Field(description="What to read, such as limits.cpu or requests.memory.")
    divisor: Quantity | None = Field(
        default=None, description="Unit in which the value is given; 1 if not set."
    )


class EnvVarSource(APIModel):
    """Where the value of an environment variable comes from. Exactly one member is set."""

    config_map_key_ref: Annotated[ConfigMapKeySelector, StructAtomic] | None = Field(
        default=None, description="Take the value of a key of a ConfigMap in the job's namespace."
    )
    field_ref: Annotated[ObjectFieldSelector, StructAtomic] | None = Field(
        default=None, description="Take the value of a field of the replica's pod."
    )
    resource_field_ref: Annotated[ResourceFieldSelector, StructAtomic] | None = Field(
        default=None, description="Take a resource request or limit of a container."
    )
    secret_key_ref: Annotated[SecretKeySelector, StructAtomic] | None = Field(
        default=None, description="Take the value of a key of a Secret in the job's namespace."
    )


class EnvVar(APIModel):
    """An environment variable of the inference container."""

    name: str = Field(
        min_length=1,
        pattern=r"^[ -<>-~]+$",
        description="Name of the variable, unique in the list: printable ASCII characters other than '='.",
    )
    value: str | None = Field(
        default=None,
        description="Value of the variable; $(NAME) stands for the value of a variable defined before it.",
    )
    value_from: EnvVarSource | None = Field(
        default=None, description="Source of the value. Cannot be set together with a value."
    )


class Toleration(APIModel):
    """Lets the replicas go to nodes that carry a matching taint."""

    key: str | None = Field(
        default=None, description="Key of the taint; empty with operator Exists means every key."
    )
    operator: Literal["Exists", "Equal"] | None = Field(
        default=None,
        description="How key and value are compared: Equal (the default) or Exists, which takes no value.",
    )
    value: str | None = Field(
        default=None, description="Value of the taint that is tolerated, with operator Equal."
    )
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Effect of the taint that is tolerated; not set means every effect."
    )
    toleration_seconds: int | None = Field(
        default=None,
        description="For effect NoExecute: how many seconds the taint is tolerated; not set means for ever.",
    )


class ScratchVolume(APIModel):
    """A volume for temporary files. The claim is made with the job and deleted with it."""

    size: Quantity = Field(description="Size of the volume, such as 100Gi.")
    storage_class_name: str | None = Field(
        default=None,
        min_length=1,
        max_length=253,
        description="StorageClass of the claim; the cluster's default class if not set.",
    )


class Condition(APIModel):
    """One aspect of the state of an object."""

    type: str = Field(
        max_length=316,
        pattern=(
            r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        ),
        description="Name of the aspect. There is at most one condition of each type.",
    )
    status: Literal["True", "False", "Unknown"] = Field(
        description="Whether it is so: True, False or Unknown."
    )
    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation of the object from which this condition was derived."
    )
    last_transition_time: Time = Field(description="When the status last went from one value to another.")
    reason: str = Field(
        min_length=1,
        max_length=1024,
        pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        description="Why, in one CamelCase word, for programs.",
    )
    message: str = Field(max_length=32768, description="Why, in words, for people; may be empty.")


class Placement(APIModel):
    """Where one replica is, and what it holds there."""

    replica: int = Field(ge=0, description="Index of the replica, from 0.")
    node: str = Field(min_length=1, max_length=253, description="Node on which the GPUs are held.")
    gpus: int = Field(ge=0, description="Number of GPUs that the replica holds on the node.")
    pod: str | None = Field(
        default=None, max_length=253, description="Name of the pod that runs the replica."
    )
    last_failed_pod: str | None = Field(
        default=None,
        max_length=253,
        description="UID of the last pod of the replica whose failure was counted as an attempt.",
    )


class InferenceJobStatus(APIModel):
    """Where an inference job stands. Only the controller writes it."""

    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation of the spec that this status is about."
    )
    phase: Phase | None = Field(
        default=None,
        description=(
            "Where the job stands, in one word: Pending (waits for GPUs), Reconciling (is being brought up), "
            "Ready, Degraded (needs attention, see the conditions), Terminating, Succeeded or Failed."
        ),
    )
    conditions: Annotated[list[Condition], ListMap("type")] | None = Field(
        default=None, description="Details of the state: Scheduled, Ready, Degraded, Complete and Failed."
    )
    placements: Annotated[list[Placement], ListMap("replica")] | None = Field(
        default=None,
        description="Where each replica is. While there is an entry, the GPUs it names are held.",
    )
    ready_replicas: int | None = Field(default=None, ge=0, description="Number of replicas that are ready.")
    attempts: int | None = Field(
        default=None,
        ge=0,
        description="Number of times the job was started, the first one included. Lost nodes do not count.",
    )
    queue_position: int | None = Field(
        default=None, ge=0, description="While Pending: the number of jobs that go first."
    )
    start_time: Time | None = Field(default=None, description="When the job was first placed.")
    completion_time: Time | None = Field(default=None, description="When the job succeeded.")
    message: str | None = Field(
        default=None,
        max_length=32768,
        description="What the job waits for or what went wrong, in words for people.",
    )
