"""Why an APIService is not Available, told in words that lead to the next action."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.explain import explain, pod_trouble

URL = "failing or missing response from https://localhost:1/apis/ai.example.com/v1: "


def api_service(status: str, reason: str, message: str = "") -> dict[str, Any]:
    condition = {"type": "Available", "status": status, "reason": reason, "message": message}
    return {"status": {"conditions": [condition]}}


def test_an_available_one_needs_no_explanation() -> None:
    assert explain(api_service("True", "Passed")) is None


def test_one_that_nobody_looked_at_is_told_apart() -> None:
    finding = explain({})
    assert finding is not None
    assert finding.reason == "not checked yet"


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("MissingEndpoints", "", "no endpoints"),
        ("EndpointsNotFound", "", "no endpoints"),
        ("ServiceNotFound", "", "the Service is missing"),
        ("FailedDiscoveryCheck", f"{URL}tls: x509: certificate signed by unknown authority", "CA mismatch"),
        (
            "FailedDiscoveryCheck",
            f"{URL}x509: certificate is valid for localhost, not inference-apiserver.ai-system.svc",
            "name missing in the certificate",
        ),
        ("FailedDiscoveryCheck", f"{URL}dial tcp 127.0.0.1:1: connect: connection refused", "nobody listens"),
        ("FailedDiscoveryCheck", f"{URL}context deadline exceeded", "not reachable"),
        ("FailedDiscoveryCheck", f"{URL}bad status from https://localhost:1/apis: 403", "refused"),
        ("FailedDiscoveryCheck", f"{URL}bad status from https://localhost:1/apis: 503", "not ready"),
        ("FailedDiscoveryCheck", f"{URL}bad status from https://localhost:1/apis: 404", "wrong answer"),
        ("SomethingNew", "odd", "SomethingNew"),
    ],
)
def test_each_reason_has_a_name(reason: str, message: str, expected: str) -> None:
    finding = explain(api_service("False", reason, message))
    assert finding is not None
    assert finding.reason == expected
    assert message in finding.evidence


def test_pods_say_why_they_are_not_ready() -> None:
    waiting = {
        "metadata": {"name": "a"},
        "status": {
            "containerStatuses": [
                {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no image"}}}
            ]
        },
    }
    unscheduled = {
        "metadata": {"name": "b"},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
    }
    running = {"metadata": {"name": "c"}, "status": {"phase": "Running"}}
    event = {"reason": "FailedMount", "message": "no volume", "involvedObject": {"name": "a"}}
    text = pod_trouble([waiting, unscheduled, running], [event, {"involvedObject": {"name": "z"}}])
    assert text == "a: ImagePullBackOff: no image; b: Unschedulable; FailedMount: no volume"
