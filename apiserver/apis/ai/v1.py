"""`ai.example.com/v1`: the storage version of the group.

Only what a schema can say is said here; rules between fields are in `strategy`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from apiserver.apis.ai.shared import (
    LABEL_VALUE_PATTERN,
    MAX_COUNT,
    MAX_GPUS,
    EnvVar,
    InferenceJobStatus,
    RestartPolicy,
    ScratchVolume,
    Toleration,
)
from apiserver.machinery.model import (
    APIModel,
    ListAtomic,
    ListMap,
    ListSet,
    MapAtomic,
    Quantity,
)

DEFAULT_GPU_RESOURCE = "nvidia.com/gpu"
DEFAULT_REPLICAS = 1
MAX_REPLICAS = 1000
MAX_GPU_PRODUCTS = 32
EXTENDED_RESOURCE_PATTERN = (
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    r"/([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
)
MODEL_PATTERN = r"^[A-Za-z][A-Za-z0-9+.-]*:\S+$"
IMAGE_PATTERN = r"^\S+$"

GPUProduct = Annotated[str, Field(min_length=1, max_length=63, pattern=LABEL_VALUE_PATTERN)]


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
        description=(
            "URI of the model, such as s3://models/llama-3-8b. "
            "The container gets it as the environment variable INFERENCE_MODEL."
        ),
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
    gpu_count: int = Field(
        default=1,
        ge=1,
        le=MAX_GPUS,
        description="Number of GPUs of each replica, a whole number of at least 1.",
    )
    gpu_resource: str = Field(
        default=DEFAULT_GPU_RESOURCE,
        max_length=317,
        pattern=EXTENDED_RESOURCE_PATTERN,
        description="Extended resource to count: nvidia.com/gpu, amd.com/gpu, nvidia.com/mig-1g.10gb.",
    )
    gpu_products: Annotated[list[GPUProduct], ListSet] | None = Field(
        default=None,
        max_length=MAX_GPU_PRODUCTS,
        description="Acceptable GPU products, as in the node label nvidia.com/gpu.product; empty means any.",
    )
    resources: dict[str, Quantity] | None = Field(
        default=None,
        description="What each replica requests beside its GPUs, such as cpu, memory or ephemeral-storage.",
    )
    replicas: int = Field(
        default=DEFAULT_REPLICAS,
        ge=1,
        le=MAX_REPLICAS,
        description="Number of replicas. They are a gang: either all of them get their GPUs, or none does.",
    )
    node_selector: Annotated[dict[str, str], MapAtomic] | None = Field(
        default=None, description="Labels that a node must have to be considered."
    )
    tolerations: Annotated[list[Toleration], ListAtomic] | None = Field(
        default=None, description="Taints of nodes that the replicas tolerate."
    )
    priority: int = Field(
        default=0,
        ge=-1_000_000_000,
        le=1_000_000_000,
        description="Higher goes first in the queue, and may preempt lower when there is no other room.",
    )
    restart_policy: RestartPolicy = Field(
        default="OnFailure",
        description=(
            "What follows when a container ends. OnFailure and Never make a batch job, complete when "
            "every replica has succeeded; Always makes a server that runs until it is deleted or suspended."
        ),
    )
    backoff_limit: int = Field(
        default=3,
        ge=0,
        le=MAX_COUNT,
        description="Failed attempts after which the job is Failed. Replicas lost to a node do not count.",
    )
    active_deadline_seconds: int | None = Field(
        default=None,
        ge=1,
        le=MAX_COUNT,
        description="Seconds after the start at which a job that still runs is Failed; not set means never.",
    )
    ttl_seconds_after_finished: int | None = Field(
        default=None,
        ge=0,
        le=MAX_COUNT,
        description="Seconds after which a finished job is deleted; not set means that it stays.",
    )
    suspend: bool = Field(
        default=False,
        description="True holds the job without GPUs: running replicas are stopped, and none is started.",
    )
    scratch: ScratchVolume | None = Field(
        default=None,
        description="Volume for temporary files, made and deleted with the job. It cannot be changed.",
    )
    pod_template: dict[str, Any] | None = Field(
        default=None,
        description=(
            "A core/v1 PodTemplateSpec for whatever the fields above have no name for: labels, volumes, "
            "sidecars, security contexts. The fields above win where both say something."
        ),
    )


class InferenceJob(APIModel):
    """Runs an inference image on a number of GPUs of a kind, as one gang, and tells where it stands."""

    spec: InferenceJobSpec = Field(description="What is wanted.")
    status: InferenceJobStatus | None = Field(
        default=None, description="Where the job stands; written by the controller."
    )


class GPUAllocation(APIModel):
    """GPUs of the node that one replica of a job holds."""

    job: str = Field(min_length=1, description="The job, as namespace/name.")
    uid: str = Field(min_length=1, description="UID of the job.")
    replica: int = Field(ge=0, description="Index of the replica.")
    count: int = Field(ge=1, description="Number of GPUs held.")


class GPUNodeStatus(APIModel):
    """The ledger of a node's GPUs. In every stored revision the allocations fit into the capacity."""

    node: str | None = Field(
        default=None, max_length=253, description="Name of the node, which may offer several resources."
    )
    resource: str | None = Field(
        default=None, description="Extended resource that is counted, such as nvidia.com/gpu."
    )
    product: str | None = Field(
        default=None, description="Product of the GPUs, as the node's label gives it."
    )
    capacity: int | None = Field(default=None, ge=0, description="Number of GPUs in the node.")
    allocatable: int | None = Field(
        default=None, ge=0, description="Number of GPUs that are healthy and offered to pods."
    )
    foreign: int | None = Field(
        default=None, ge=0, description="Number of GPUs held by pods that this server did not place."
    )
    allocations: Annotated[list[GPUAllocation], ListMap("uid", "replica")] | None = Field(
        default=None, description="What the jobs hold, one entry for each replica."
    )
    free: int | None = Field(
        default=None, ge=0, description="Number of GPUs that are neither held by a job nor by a foreign pod."
    )


class GPUNode(APIModel):
    """A node that offers GPUs, with the account of who holds them. Kept by the server; users read it."""

    status: GPUNodeStatus | None = Field(default=None, description="The ledger of the node's GPUs.")
