"""The resources of `ai.example.com`, each declared once: routes, discovery and tables follow from this."""

from __future__ import annotations

from apiserver.apis.ai import columns, v1, v1alpha1
from apiserver.apis.ai.conversion import v1_to_v1alpha1, v1alpha1_to_v1
from apiserver.apis.ai.strategy import GPUNodeStrategy, InferenceJobStrategy
from apiserver.machinery.resource import READ_VERBS, Resource, Scale, Version

GROUP = "ai.example.com"

INFERENCE_JOBS = Resource(
    group=GROUP,
    kind="InferenceJob",
    plural="inferencejobs",
    versions=(
        Version("v1", v1.InferenceJob, columns.INFERENCE_JOB),
        Version(
            "v1alpha1",
            v1alpha1.InferenceJob,
            columns.INFERENCE_JOB_V1ALPHA1,
            to_storage=v1alpha1_to_v1,
            from_storage=v1_to_v1alpha1,
        ),
    ),
    storage_version="v1",
    short_names=("ij",),
    categories=("all",),
    strategy=InferenceJobStrategy(),
    selectable_fields=("status.phase", "spec.priority"),
    scale=Scale(spec_replicas=".spec.replicas", status_replicas=".status.readyReplicas"),
)
"""Jobs: what users write and the controller serves."""

GPU_NODES = Resource(
    group=GROUP,
    kind="GPUNode",
    plural="gpunodes",
    versions=(Version("v1", v1.GPUNode, columns.GPU_NODE),),
    storage_version="v1",
    namespaced=False,
    short_names=("gn",),
    strategy=GPUNodeStrategy(),
    verbs=READ_VERBS,
    status=False,
)
"""The ledger of GPUs, one object a node; read-only for users."""

RESOURCES: tuple[Resource, ...] = (INFERENCE_JOBS, GPU_NODES)
"""Everything that the group serves."""
