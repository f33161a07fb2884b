"""Why an APIService is not Available, and what to do about it. Pure: the caller collects the evidence.

Reasons are those that `k8s.io/kube-aggregator` sets; the texts inside a FailedDiscoveryCheck are Go's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deploy.objects import Object


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause: a short name, what was seen, and the next action in a sentence."""

    reason: str
    evidence: str
    action: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.evidence} {self.action}".strip()


_BY_REASON = {
    "ServiceNotFound": ("the Service is missing", "Run install again."),
    "ServicePortError": (
        "the Service has no such port",
        "Run install again: it makes port and APIService agree.",
    ),
    "EndpointsNotFound": (
        "no endpoints",
        "No pod belongs to the Service: look at the pods of the Deployment.",
    ),
    "MissingEndpoints": (
        "no endpoints",
        "No pod of the Service is ready: look at the pods of the Deployment.",
    ),
}
_IN_DISCOVERY = (
    (
        r"certificate signed by unknown authority|certificate is not trusted|ECDSA verification failure",
        "CA mismatch",
        "The caBundle is not the authority of the server's certificate: install with the server's "
        "own --cert-dir.",
    ),
    (
        r"certificate is valid for .*, not |doesn't contain any (IP )?SANs|not valid for any names",
        "name missing in the certificate",
        "The serving certificate has to carry <service>.<namespace>.svc: start the server with these names.",
    ),
    (
        r"certificate has expired or is not yet valid",
        "certificate expired",
        "Compare the clocks, and let the server renew its certificate.",
    ),
    (
        r"connection refused",
        "nobody listens",
        "Start the server, and check that it listens on the port that the APIService names.",
    ),
    (r"no such host", "name not found", "kube-apiserver cannot resolve the host: check --external-name."),
    (
        r"i/o timeout|context deadline exceeded|no route to host|Client\.Timeout|TLS handshake timeout",
        "not reachable",
        "kube-apiserver cannot reach the server's port: check firewalls between control plane and nodes.",
    ),
    (
        r"bad status from .*: 40[13]",
        "refused",
        "The server does not trust the front proxy: check that it reads kube-system/"
        "extension-apiserver-authentication.",
    ),
    (
        r"bad status from .*: 5\d\d",
        "not ready",
        "The server answers that it is not ready: look at its /readyz?verbose.",
    ),
    (r"bad status from", "wrong answer", "Something else answers at this address: check host and port."),
)


def available(api_service: Object) -> Object:
    """The condition Available, or an empty object."""
    conditions = (api_service.get("status") or {}).get("conditions") or []
    found: Object = next((item for item in conditions if item.get("type") == "Available"), {})
    return found


def explain(api_service: Object) -> Finding | None:
    """What keeps an APIService from being Available; None when it is."""
    condition = available(api_service)
    if condition.get("status") == "True":
        return None
    reason, message = condition.get("reason", ""), condition.get("message", "")
    if not reason:
        return Finding("not checked yet", "kube-apiserver has not looked at the APIService yet.", "")
    if reason in _BY_REASON:
        name, action = _BY_REASON[reason]
        return Finding(name, f"{reason} ({message}).", action)
    for pattern, name, action in _IN_DISCOVERY:
        if re.search(pattern, message):
            return Finding(name, f"{reason} ({message}).", action)
    return Finding(reason, f"{message}.", "")


def pod_trouble(pods: Sequence[Object], events: Sequence[Object] = ()) -> str:
    """Why pods are not ready, in one line; `events` are warnings about them."""
    texts = [f"{pod['metadata']['name']}: {text}" for pod in pods if (text := _pod_state(pod))]
    names = {pod["metadata"]["name"] for pod in pods}
    newest = [event for event in events if (event.get("involvedObject") or {}).get("name") in names][-1:]
    texts += [f"{event.get('reason', '')}: {event.get('message', '')}" for event in newest]
    return "; ".join(texts)


def _pod_state(pod: Object) -> str:
    """What a pod waits for; empty when it is ready."""
    status = pod.get("status") or {}
    for container in status.get("containerStatuses") or ():
        for state in ("waiting", "terminated"):
            found = (container.get("state") or {}).get(state)
            if found and not container.get("ready"):
                return ": ".join(filter(None, (found.get("reason", state), found.get("message", ""))))
    for condition in status.get("conditions") or ():
        if condition.get("type") in ("PodScheduled", "Ready") and condition.get("status") == "False":
            return ": ".join(filter(None, (condition.get("reason", ""), condition.get("message", ""))))
    return "" if status.get("phase") == "Running" else str(status.get("phase", "Pending"))
