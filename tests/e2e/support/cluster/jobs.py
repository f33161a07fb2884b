"""InferenceJobs for tests, and where to find them."""

from __future__ import annotations

from typing import Any

from cluster.rest import Rest

GROUP = "ai.example.com"
KIND = "InferenceJob"


def path(namespace: str, name: str = "", version: str = "v1") -> str:
    """The path of a job, or of all jobs of a namespace."""
    collection = f"/apis/{GROUP}/{version}/namespaces/{namespace}/inferencejobs"
    return f"{collection}/{name}" if name else collection


def manifest(name: str, **spec: Any) -> dict[str, Any]:
    """A job that needs one GPU, with changes to its spec."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"image": "registry.example.com/vllm:0.9", **spec},
    }


def condition(job: dict[str, Any], kind: str) -> str:
    """The status of a condition, or the empty string."""
    conditions = job.get("status", {}).get("conditions", [])
    return next((str(c["status"]) for c in conditions if c["type"] == kind), "")


def get(rest: Rest, namespace: str, name: str) -> dict[str, Any]:
    """One job."""
    job: dict[str, Any] = rest.get(path(namespace, name))
    return job
