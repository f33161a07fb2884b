"""The harness itself: a control plane that starts, can be restarted, and knows its users."""

from __future__ import annotations

import pytest
from cluster.controlplane import USER_TOKEN, ControlPlane
from cluster.kubectl import Kubectl
from cluster.nodes import create_gpu_node, delete_node
from cluster.rest import Rest

pytestmark = pytest.mark.e2e


def test_kube_apiserver_keeps_port_and_data_over_a_restart(
    controlplane: ControlPlane, namespace: str
) -> None:
    controlplane.kube_apiserver.kill()
    controlplane.start_kube_apiserver()
    assert controlplane.rest.exists(f"/api/v1/namespaces/{namespace}")


def test_tokens_and_certificates_name_different_users(controlplane: ControlPlane) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    alice = controlplane.client(token=USER_TOKEN).create(path, review)["status"]["userInfo"]
    bob = controlplane.client(controlplane.keys.user).create(path, review)["status"]["userInfo"]
    assert (alice["username"], bob["username"]) == ("alice", "bob")


def test_every_kubectl_talks_to_it(kubectl_of_cluster: Kubectl) -> None:
    assert "default" in kubectl_of_cluster("get", "namespaces")


def test_a_fake_node_offers_gpus_and_has_no_taint(rest: Rest) -> None:
    create_gpu_node(rest, "harness-node", gpus=4)
    try:
        node = rest.get("/api/v1/nodes/harness-node")
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "4"
        assert "taints" not in node["spec"]
    finally:
        delete_node(rest, "harness-node")
