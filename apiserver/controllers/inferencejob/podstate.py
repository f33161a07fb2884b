"""What the status of a pod means. Pure."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

REJECTIONS = ("UnexpectedAdmissionError", "NodeAffinity", "OutOf", "AdmissionError")
"""Beginnings of `status.reason` of pods that a kubelet refused to start: the node's fault, or a lost race."""
DISRUPTIONS = (*REJECTIONS, "Evicted", "NodeLost", "NodeShutdown", "Terminated", "Shutdown", "Preempting")
BAD_WAITS = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)
"""Reasons of waiting containers that need somebody's attention."""


def phase_of(pod: Object) -> str:
    """The phase; Pending if the pod has none yet."""
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_rejected(pod: Object) -> bool:
    """Whether a kubelet refused the pod."""
    reason = str((pod.get("status") or {}).get("reason") or "")
    return phase_of(pod) == "Failed" and reason.startswith(REJECTIONS)


def is_disruption(pod: Object) -> bool:
    """Whether a failed pod failed for reasons that are not its own."""
    status = pod.get("status") or {}
    if phase_of(pod) != "Failed":
        return False
    if str(status.get("reason") or "").startswith(DISRUPTIONS):
        return True
    return _condition(pod, "DisruptionTarget") == "True"


def is_elsewhere(pod: Object, node: str) -> bool:
    """Whether the pod is bound to another node: it is of an earlier placement."""
    bound = (pod.get("spec") or {}).get("nodeName")
    return bool(bound) and bound != node


def is_pod_ready(pod: Object) -> bool:
    """Whether the pod runs and is ready."""
    return (
        phase_of(pod) == "Running"
        and _condition(pod, "Ready") == "True"
        and not pod["metadata"].get("deletionTimestamp")
    )


def failed_at(pod: Object) -> str:
    """When a pod ended: when the last of its containers did, else when it was made."""
    ends = [
        str(terminated["finishedAt"])
        for status in (pod.get("status") or {}).get("containerStatuses") or ()
        if (terminated := (status.get("state") or {}).get("terminated")) and terminated.get("finishedAt")
    ]
    return max(ends, default=str(pod["metadata"]["creationTimestamp"]))


def failure_message(pod: Object) -> str:
    """Why a pod failed, in words."""
    status = pod.get("status") or {}
    for container in status.get("containerStatuses") or ():
        terminated = (container.get("state") or {}).get("terminated") or {}
        if terminated.get("exitCode"):
            reason = terminated.get("reason") or "Error"
            return (
                f"container {container.get('name')} ended with {reason} (exit code {terminated['exitCode']})"
            )
    return str(status.get("message") or status.get("reason") or "failed")


def trouble(pod: Object) -> tuple[str, str] | None:
    """The reason and message of a container that cannot start or keeps crashing."""
    status = pod.get("status") or {}
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in BAD_WAITS:
            message = waiting.get("message") or waiting["reason"]
            return str(waiting["reason"]), f"pod {pod['metadata']['name']}: {message}"
    return None


def has_unhealthy_device(pod: Object) -> bool:
    """Whether the kubelet reports a device of the pod as unhealthy (ResourceHealthStatus)."""
    return any(
        resource.get("health") == "Unhealthy"
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
        for allocated in container.get("allocatedResourcesStatus") or ()
        for resource in allocated.get("resources") or ()
    )


def _condition(pod: Object, kind: str) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == kind:
            return str(condition.get("status"))
    return ""
