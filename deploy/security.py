"""What all our containers have in common: no privileges, and probes."""

from __future__ import annotations

from deploy.objects import Object

USER = 65532
"""The user and group of our image and of etcd's pods; it has no name and no home."""

POD_SECURITY: Object = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "fsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""As the Pod Security Standard `restricted` demands."""


def container_security() -> Object:
    """No way to more privileges, and nothing to write but mounted volumes."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def probe(path: str, port: str, scheme: str, *, failures: int = 3, period_seconds: int = 5) -> Object:
    """A probe that takes an HTTP status below 400 for good."""
    return {
        "httpGet": {"path": path, "port": port, "scheme": scheme},
        "periodSeconds": period_seconds,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
