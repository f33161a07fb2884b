"""A job gets its GPUs on fake nodes, its pods run, and all of it goes when the job or its namespace goes."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from cluster import jobs
from cluster.kubectl import Kubectl
from cluster.nodes import Kubelets, create_gpu_node, delete_node, finish_pod, pods
from cluster.rest import Rest
from cluster.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("ai_server")]
GPUS = 8
NAMESPACE_SECONDS = 30


@pytest.fixture
def product(rest: Rest) -> Iterator[str]:
    """Two nodes with eight GPUs each, of a product that no other test asks for."""
    product = f"TEST-{uuid.uuid4().hex[:8]}"
    names = [f"{product.lower()}-{index}" for index in range(2)]
    for name in names:
        create_gpu_node(rest, name, gpus=GPUS, product=product)
    yield product
    for name in names:
        delete_node(rest, name)


def _create(rest: Rest, namespace: str, product: str, name: str = "llama", **spec: Any) -> None:
    rest.create(jobs.path(namespace), jobs.manifest(name, gpuProducts=[product], **spec))


def _bound(rest: Rest, namespace: str, count: int) -> list[dict[str, Any]]:
    found = [pod for pod in pods(rest, namespace) if pod["spec"].get("nodeName")]
    assert len(found) == count, f"{len(found)} of {count} pods are bound"
    return found


def _run_until_ready(rest: Rest, namespace: str, count: int, name: str = "llama") -> list[dict[str, Any]]:
    bound = eventually("pods are bound", lambda: _bound(rest, namespace, count), 30)
    Kubelets(rest).step(namespace)

    def ready() -> bool:
        job = jobs.get(rest, namespace, name)
        assert jobs.condition(job, "Ready") == "True", job.get("status")
        return True

    eventually("the job is ready", ready, 30)
    return bound


def test_a_gang_is_bound_to_nodes_of_the_product(rest: Rest, namespace: str, product: str) -> None:
    _create(rest, namespace, product, gpuCount=4, replicas=3)
    bound = _run_until_ready(rest, namespace, 3)
    nodes = {pod["spec"]["nodeName"] for pod in bound}
    assert len(nodes) == 2
    assert all(node.startswith(product.lower()) for node in nodes)
    job = jobs.get(rest, namespace, "llama")
    assert job["status"]["phase"] == "Ready"
    assert job["status"]["readyReplicas"] == 3
    assert {p["pod"] for p in job["status"]["placements"]} == {p["metadata"]["name"] for p in bound}
    assert job["status"]["observedGeneration"] == job["metadata"]["generation"]


def test_the_pods_ask_for_the_gpus_and_belong_to_the_job(rest: Rest, namespace: str, product: str) -> None:
    _create(rest, namespace, product, gpuCount=2, model="s3://models/llama")
    (pod,) = eventually("pod is bound", lambda: _bound(rest, namespace, 1), 30)
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert {"name": "INFERENCE_MODEL", "value": "s3://models/llama"} in container["env"]
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("InferenceJob", "llama", True)
    assert owner["blockOwnerDeletion"]


def test_the_ledger_shows_who_holds_what(
    rest: Rest, namespace: str, product: str, kubectl_of_cluster: Kubectl
) -> None:
    _create(rest, namespace, product, gpuCount=8)
    (pod,) = eventually("pod is bound", lambda: _bound(rest, namespace, 1), 30)
    node = rest.get(f"/apis/{jobs.GROUP}/v1/gpunodes/{pod['spec']['nodeName']}")["status"]
    assert node["allocatable"] == GPUS
    assert [(a["job"], a["count"]) for a in node["allocations"]] == [(f"{namespace}/llama", 8)]
    assert node["free"] == 0
    assert pod["spec"]["nodeName"] in kubectl_of_cluster("get", "gpunodes")


def test_kubectl_waits_for_ready_and_describes_with_events(
    rest: Rest, namespace: str, product: str, kubectl_of_cluster: Kubectl
) -> None:
    kubectl = kubectl_of_cluster.inside(namespace)
    body = jobs.manifest("llama", gpuProducts=[product])
    kubectl("apply", "-f", "-", stdin=json.dumps(body))
    _run_until_ready(rest, namespace, 1)
    kubectl("wait", "ij", "llama", "--for=condition=Ready", "--timeout=30s")
    out = eventually(
        "events are described", lambda: _with_events(kubectl("describe", "ij", "llama")), 20, every=0.5
    )
    assert "Normal" in out


def _with_events(text: str) -> str:
    events = text.partition("Events:")[2]
    assert "<none>" not in events, "no events yet"
    return events


def test_a_job_that_does_not_fit_holds_nothing_and_says_why(rest: Rest, namespace: str, product: str) -> None:
    _create(rest, namespace, product, gpuCount=8, replicas=3)

    def explained() -> str:
        job = jobs.get(rest, namespace, "llama")
        assert jobs.condition(job, "Scheduled") == "False", job.get("status")
        return str(job["status"]["message"])

    assert eventually("the job says why it waits", explained, 30)
    assert jobs.get(rest, namespace, "llama")["status"]["phase"] == "Pending"
    assert not _bound(rest, namespace, 0)


def test_a_finished_job_gives_its_gpus_to_the_next(rest: Rest, namespace: str, product: str) -> None:
    _create(rest, namespace, product, "one", gpuCount=8, replicas=2)
    bound = _run_until_ready(rest, namespace, 2, "one")
    _create(rest, namespace, product, "two", gpuCount=8)
    for pod in bound:
        finish_pod(rest, pod)

    def succeeded() -> bool:
        return bool(jobs.get(rest, namespace, "one")["status"]["phase"] == "Succeeded")

    eventually("the first job has succeeded", succeeded, 30)
    eventually("the second job is bound", lambda: _placed(rest, namespace, "two"), 30)


def _placed(rest: Rest, namespace: str, name: str) -> bool:
    return any(
        pod["metadata"]["ownerReferences"][0]["name"] == name and pod["spec"].get("nodeName")
        for pod in pods(rest, namespace)
    )


def test_deleting_the_job_removes_the_pods(rest: Rest, namespace: str, product: str) -> None:
    _create(rest, namespace, product, replicas=2)
    _run_until_ready(rest, namespace, 2)
    rest.delete(jobs.path(namespace, "llama"))
    kubelets = Kubelets(rest)

    def gone() -> bool:
        kubelets.step(namespace)
        assert not rest.exists(jobs.path(namespace, "llama")), "the job is still there"
        assert not pods(rest, namespace), "pods are still there"
        return True

    eventually("job and pods are gone", gone, 60)


def test_a_deleted_pod_is_replaced(rest: Rest, namespace: str, product: str) -> None:
    _create(rest, namespace, product)
    (before,) = _run_until_ready(rest, namespace, 1)
    kubelets = Kubelets(rest)
    rest.delete(
        f"/api/v1/namespaces/{namespace}/pods/{before['metadata']['name']}", {"gracePeriodSeconds": 0}
    )

    def replaced() -> bool:
        kubelets.step(namespace)
        (pod,) = _bound(rest, namespace, 1)
        return bool(pod["metadata"]["uid"] != before["metadata"]["uid"])

    eventually("another pod runs", replaced, 30)


def test_suspending_a_job_frees_its_gpus(rest: Rest, namespace: str, product: str) -> None:
    _create(rest, namespace, product, gpuCount=8)
    _run_until_ready(rest, namespace, 1)
    rest.merge(jobs.path(namespace, "llama"), {"spec": {"suspend": True}})
    kubelets = Kubelets(rest)

    def freed() -> bool:
        kubelets.step(namespace)
        nodes = rest.get(f"/apis/{jobs.GROUP}/v1/gpunodes")["items"]
        held = [n for n in nodes if n["status"]["product"] == product and n["status"].get("allocations")]
        assert not held, f"still held: {held}"
        return not pods(rest, namespace)

    eventually("the GPUs are free", freed, 30)


def test_deleting_the_namespace_finishes_in_time(rest: Rest, namespace: str, product: str) -> None:
    _create(rest, namespace, product, replicas=2)
    _run_until_ready(rest, namespace, 2)
    started = time.monotonic()
    rest.delete(f"/api/v1/namespaces/{namespace}")
    kubelets = Kubelets(rest)

    def gone() -> bool:
        kubelets.step(namespace)
        assert not rest.exists(f"/api/v1/namespaces/{namespace}"), _state(rest, namespace)
        return True

    eventually("the namespace is gone", gone, NAMESPACE_SECONDS)
    assert time.monotonic() - started < NAMESPACE_SECONDS


def _state(rest: Rest, namespace: str) -> str:
    return json.dumps(rest.get(f"/api/v1/namespaces/{namespace}")["status"])


def test_nothing_is_created_in_a_namespace_that_ends(rest: Rest, namespace: str) -> None:
    held = jobs.manifest("held", suspend=True)
    held["metadata"]["finalizers"] = ["example.com/test"]
    rest.create(jobs.path(namespace), held)
    rest.delete(f"/api/v1/namespaces/{namespace}")
    body = json.dumps(jobs.manifest("late", suspend=True)).encode()
    answer = rest.request("POST", jobs.path(namespace), body, {"Content-Type": "application/json"})
    assert answer.status == 403
    assert "NamespaceTerminating" in [cause["reason"] for cause in answer.json["details"]["causes"]]
    rest.merge(jobs.path(namespace, "held"), {"metadata": {"finalizers": None}})
    eventually(
        "namespace is gone", lambda: not rest.exists(f"/api/v1/namespaces/{namespace}"), NAMESPACE_SECONDS
    )
