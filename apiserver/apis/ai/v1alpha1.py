"""`ai.example.com/v1alpha1`: served for old clients, never stored. `conversion` leads to and from v1.

It counts GPUs as `gpus`, knows one product (`gpuType`), and runs a single replica.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from apiserver.apis.ai.shared import (
    MAX_COUNT,
    MAX_GPUS,
    EnvVar,
    InferenceJobStatus,
    RestartPolicy,
    ScratchVolume,
    Toleration,
)
from apiserver.apis.ai.v1 import (
    DEFAULT_GPU_RESOURCE,
    EXTENDED_RESOURCE_PATTERN,
    IMAGE_PATTERN,
    MODEL_PATTERN,
    GPUProduct,
)
from apiserver.machinery.model import APIModel, ListAtomic, ListMap, MapAtomic, Quantity


class InferenceJobSpec(APIModel):
    """What to run, on how many GPUs of which kind."""

    image: str = Field(
        min_length=1,
        max_length=1024,
        pattern=IMAGE_PATTERN,
        description="Container image that serves or runs the model.",
    )
    model: str | None = Field(
        default=None,
        max_length=2048,
        pattern=MODEL_PATTERN,
        description="URI of the model. The container gets it as the environment variable INFERENCE_MODEL.",
    )
    command: Annotated[list[str], ListAtomic] | None = Field(
        default=None, description="Entry point of the container; the image's own if not set."
    )
    args: Annotated[list[str], ListAtomic] | None = Field(
        default=None, description="Arguments of the entry point; those of the image if not set."
    )
    env: Annotated[list[EnvVar], ListMap("name")] | None = Field(
        default=None, description="Environment variables of the container."
    )
    gpus: int = Field(default=1, ge=1, le=MAX_GPUS, description="Number of GPUs. In v1 this is gpuCount.")
    gpu_type: GPUProduct | None = Field(
        default=None,
        description="Product of the GPUs; not set means any. In v1 this is the first of gpuProducts.",
    )
    gpu_resource: str = Field(
        default=DEFAULT_GPU_RESOURCE,
        max_length=317,
        pattern=EXTENDED_RESOURCE_PATTERN,
        description="Extended resource that is counted, such as nvidia.com/gpu.",
    )
    resources: dict[str, Quantity] | None = Field(
        default=None,
        description="What the job requests beside its GPUs, such as cpu, memory or ephemeral-storage.",
    )
    node_selector: Annotated[dict[str, str], MapAtomic] | None = Field(
        default=None, description="Labels that a node must have to be considered."
    )
    tolerations: Annotated[list[Toleration], ListAtomic] | None = Field(
        default=None, description="Taints of nodes that the job tolerates."
    )
    priority: int = Field(
        default=0, ge=-1_000_000_000, le=1_000_000_000, description="Higher goes first and may preempt lower."
    )
    restart_policy: RestartPolicy = Field(
        default="OnFailure",
        description="OnFailure and Never make a batch job, Always a server that runs until it is deleted.",
    )
    backoff_limit: int = Field(
        default=3, ge=0, le=MAX_COUNT, description="Failed attempts after which the job is Failed."
    )
    active_deadline_seconds: int | None = Field(
        default=None,
        ge=1,
        le=MAX_COUNT,
        description="Seconds after the start at which a job that still runs is Failed.",
    )
    ttl_seconds_after_finished: int | None = Field(
        default=None,
        ge=0,
        le=MAX_COUNT,
        description="Seconds after which a finished job is deleted; not set means that it stays.",
    )
    suspend: bool = Field(default=False, description="True holds the job without GPUs.")
    scratch: ScratchVolume | None = Field(
        default=None, description="Volume for temporary files, made with the job and deleted with it."
    )
    pod_template: dict[str, Any] | None = Field(
        default=None, description="A core/v1 PodTemplateSpec for whatever the fields above have no name for."
    )


class InferenceJob(APIModel):
    """Runs an inference image on a number of GPUs, and tells where it stands. Prefer v1."""

    spec: InferenceJobSpec = Field(description="What is wanted.")
    status: InferenceJobStatus | None = Field(
        default=None, description="Where the job stands; written by the controller."
    )
