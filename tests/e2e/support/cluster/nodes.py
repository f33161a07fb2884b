"""GPU nodes without machines, and a hand that plays their kubelets."""

from __future__ import annotations

import datetime
from typing import Any

from cluster.rest import Rest

PRODUCT = "NVIDIA-H100-80GB-HBM3"


def now() -> str:
    """The time in the form of the API."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def create_gpu_node(
    rest: Rest,
    name: str,
    *,
    gpus: int = 8,
    product: str = PRODUCT,
    resource: str = "nvidia.com/gpu",
    labels: dict[str, str] | None = None,
) -> None:
    """Create a Ready node with GPUs. Quantities of cpu and memory are those of a large machine."""
    amounts = {resource: str(gpus), "cpu": "128", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti"}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now()}
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "nvidia.com/gpu.product": product,
                **(labels or {}),
            },
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [
                {**condition, "lastTransitionTime": now(), "message": "kubelet is posting ready status"}
            ],
        },
    }
    rest.create("/api/v1/nodes", node)
    # Admission puts the not-ready taint on every new node, whatever its conditions say.
    rest.merge(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


def set_ready(rest: Rest, name: str, ready: bool) -> None:
    """Flip the Ready condition of a node."""
    condition = {"type": "Ready", "status": "True" if ready else "Unknown", "reason": "Test"}
    stamped = {**condition, "lastHeartbeatTime": now(), "lastTransitionTime": now()}
    rest.merge(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [stamped]}})


def delete_node(rest: Rest, name: str) -> None:
    """Delete the node object."""
    rest.delete(f"/api/v1/nodes/{name}")


def pods(rest: Rest, namespace: str, selector: str = "") -> list[dict[str, Any]]:
    """The pods of a namespace."""
    query = f"?labelSelector={selector}" if selector else ""
    items: list[dict[str, Any]] = rest.get(f"/api/v1/namespaces/{namespace}/pods{query}")["items"]
    return items


def run_pod(rest: Rest, pod: dict[str, Any]) -> None:
    """As the kubelet does when the containers run: phase Running, Ready."""
    _set_pod_status(rest, pod, "Running", {"running": {"startedAt": now()}}, ready=True)


def finish_pod(rest: Rest, pod: dict[str, Any], *, exit_code: int = 0) -> None:
    """As the kubelet does when all containers have ended: Succeeded, or Failed."""
    ended = {"exitCode": exit_code, "reason": "Completed" if not exit_code else "Error", "finishedAt": now()}
    _set_pod_status(rest, pod, "Failed" if exit_code else "Succeeded", {"terminated": ended}, ready=False)


def reject_pod(rest: Rest, pod: dict[str, Any], reason: str = "UnexpectedAdmissionError") -> None:
    """As the kubelet does when a device cannot be allocated at admission."""
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
    rest.merge(path, {"status": {"phase": "Failed", "reason": reason, "message": "Allocate failed"}})


def finalize_pod(rest: Rest, pod: dict[str, Any]) -> None:
    """As the kubelet does when the containers of a pod that is being deleted have ended."""
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
    preconditions = {"uid": pod["metadata"]["uid"]}
    if rest.exists(path):
        rest.delete(path, {"gracePeriodSeconds": 0, "preconditions": preconditions})


def _set_pod_status(
    rest: Rest, pod: dict[str, Any], phase: str, state: dict[str, Any], *, ready: bool
) -> None:
    names = [container["name"] for container in pod["spec"]["containers"]]
    containers = [
        {
            "name": name,
            "image": "image",
            "imageID": "image@sha256:0",
            "ready": ready,
            "restartCount": 0,
            "state": state,
        }
        for name in names
    ]
    conditions = [
        {"type": kind, "status": "True" if ready else "False", "lastTransitionTime": now()}
        for kind in ("Ready", "ContainersReady")
    ]
    status = {"phase": phase, "conditions": conditions, "containerStatuses": containers, "startTime": now()}
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
    rest.merge(path, {"status": status})


class Kubelets:
    """Plays the kubelets of all nodes, one step at a time: it runs what is bound and ends what is deleted."""

    def __init__(self, rest: Rest) -> None:
        self.rest = rest

    def step(self, namespace: str) -> int:
        """Bring the bound pods of the namespace one step further; returns how many changed."""
        changed = 0
        for pod in pods(self.rest, namespace):
            if not pod["spec"].get("nodeName"):
                continue
            if pod["metadata"].get("deletionTimestamp"):
                finalize_pod(self.rest, pod)
            elif pod["status"].get("phase") == "Pending":
                run_pod(self.rest, pod)
            else:
                continue
            changed += 1
        return changed
