"""What the installer makes of a bare cluster: a group in discovery, behind an Available APIService."""

from __future__ import annotations

import base64

import pytest
from cluster.kubectl import Kubectl
from cluster.rest import Rest
from cluster.server import GROUPS, AIServer

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("ai_server")]
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


@pytest.mark.parametrize("name", GROUPS)
def test_the_apiservice_trusts_a_generated_authority_and_skips_no_check(rest: Rest, name: str) -> None:
    spec = rest.get(f"{SERVICES}/{name}")["spec"]
    assert b"BEGIN CERTIFICATE" in base64.b64decode(spec["caBundle"])
    assert not spec.get("insecureSkipTLSVerify")
    assert spec["groupPriorityMinimum"] > 0
    assert spec["versionPriority"] > 0


def test_install_can_be_run_again(ai_server: AIServer) -> None:
    ai_server.install()


def test_api_resources_list_both_kinds_with_their_short_names(kubectl_of_cluster: Kubectl) -> None:
    lines = kubectl_of_cluster("api-resources", "--api-group=ai.example.com", "--no-headers").splitlines()
    assert [line.split() for line in sorted(lines)] == [
        ["gpunodes", "gn", "ai.example.com/v1", "false", "GPUNode"],
        ["inferencejobs", "ij", "ai.example.com/v1", "true", "InferenceJob"],
    ]


def test_verbs_and_categories_are_discovered(kubectl_of_cluster: Kubectl) -> None:
    out = kubectl_of_cluster("api-resources", "--api-group=ai.example.com", "-o", "wide", "--no-headers")
    rows = {line.split()[0]: line.split()[-2:] for line in out.splitlines()}
    verbs, categories = rows["inferencejobs"]
    assert categories == "all"
    assert set(verbs.split(",")) == {
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    }


@pytest.mark.parametrize("field", ["spec", "spec.gpuCount", "status.conditions", "spec.env.valueFrom"])
def test_every_field_is_explained(kubectl_of_cluster: Kubectl, field: str) -> None:
    out = kubectl_of_cluster("explain", f"inferencejobs.{field}")
    assert "DESCRIPTION:" in out
    assert "<no description>" not in out


def test_explain_knows_the_old_version(kubectl_of_cluster: Kubectl) -> None:
    out = kubectl_of_cluster("explain", "ij.spec.gpuType", "--api-version=ai.example.com/v1alpha1")
    assert "gpuType" in out


def test_users_may_read_gpunodes_and_not_write_them(kubectl_of_cluster: Kubectl) -> None:
    done = kubectl_of_cluster.run(
        "create",
        "-f",
        "-",
        stdin='{"apiVersion":"ai.example.com/v1","kind":"GPUNode","metadata":{"name":"x"}}',
    )
    assert done.code == 1
    assert "MethodNotAllowed" in done.err or "does not allow this method" in done.err, done.err
