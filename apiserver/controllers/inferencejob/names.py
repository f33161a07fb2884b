"""Names that are part of the contract: resources, labels, finalizer, and the reasons of conditions and
events."""

from __future__ import annotations

GROUP = "ai.example.com"
API_VERSION = "ai.example.com/v1"
KIND = "InferenceJob"
JOBS = "inferencejobs"
GPU_NODES = "gpunodes"

FINALIZER = "ai.example.com/release"
"""Held while GPUs are booked or a scratch volume exists; taken off by the controller alone."""
TRIGGER = "reconcile-trigger"
"""Annotation: a new value forces a reconciliation, also of a job that waits for a new generation."""
SCHEDULER = "inference-apiserver"
"""`schedulerName` of the pods: kube-scheduler leaves them alone."""
JOB_LABEL = "ai.example.com/job"
REPLICA_LABEL = "ai.example.com/replica"
HASH_ANNOTATION = "ai.example.com/spec-hash"
"""On pods: what they were made from; another value means that the job's spec has changed since."""

SCHEDULED = "Scheduled"
READY = "Ready"
DEGRADED = "Degraded"
COMPLETE = "Complete"
FAILED = "Failed"


class Reason:
    """Reasons of conditions and events. Each is used for one thing."""

    PLACED = "Placed"
    """Scheduled=True: every replica has its GPUs."""
    WAITING = "WaitingForGPUs"
    """Scheduled=False: no room; the message says why, node by node."""
    SUSPENDED = "Suspended"
    """Scheduled=False: spec.suspend."""
    PREEMPTED = "Preempted"
    """Scheduled=False: a job of higher priority needed the GPUs."""
    HEALING = "Healing"
    """Scheduled=False: replicas were lost with their nodes; the others keep their GPUs for a while."""
    GANG_RELEASED = "GangReleased"
    """Scheduled=False: the gang could not be completed in time, so all of it gave its GPUs back."""
    FINISHED = "Finished"
    """Scheduled=False: the job has ended."""

    TERMINATING = "Terminating"
    """Ready=False: the job is being deleted."""

    PLACEMENT_FAILED = "PlacementFailed"
    """Event: the store refused a placement; it is tried again."""

    ALL_READY = "AllReplicasReady"
    """Ready=True."""
    STARTING = "ReplicasStarting"
    """Ready=False: every replica has its GPUs, not every one is ready."""
    NOT_PLACED = "NotPlaced"
    """Ready=False: see Scheduled."""
    HEALTHY = "AsExpected"
    """Degraded=False."""
    REPLICA_LOST = "ReplicaLost"
    """Degraded=True and event: a node went away, or a kubelet or a device failed; costs no attempt."""
    FORBIDDEN = "Forbidden"
    """Degraded=True and event: RBAC or a quota refuses what the job needs."""
    INVALID_POD = "InvalidPod"
    """Degraded=True: the pod template makes no valid pod; waits for a new generation."""
    POD_NAME_TAKEN = "PodNameTaken"
    """Degraded=True: a pod that is not ours has the name."""
    REPLICA_FAILED = "ReplicaFailed"
    """Event: a replica failed by itself; costs an attempt."""
    POD_DELETED = "PodDeleted"
    """Event: somebody deleted a pod; it is made again."""
    POD_CHANGED = "PodChanged"
    """Event: a pod differs from what the job says; it is replaced."""
    RELEASED = "Released"
    """Event: GPUs were given back."""
    SUCCEEDED = "AllReplicasSucceeded"
    """Complete=True and event."""
    BACKOFF_LIMIT = "BackoffLimitExceeded"
    """Failed=True and event: more failures than backoffLimit forgives."""
    DEADLINE = "DeadlineExceeded"
    """Failed=True and event: active for longer than activeDeadlineSeconds."""


RELEASING = frozenset({Reason.SUSPENDED, Reason.PREEMPTED, Reason.GANG_RELEASED, Reason.FINISHED})
"""Reasons of Scheduled=False with which the whole gang gives its GPUs back. They survive a restart in the
status."""
