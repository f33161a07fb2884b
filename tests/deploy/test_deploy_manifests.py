"""What the manifests promise, seen without a cluster."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from apiserver.options import serve_config
from deploy.manifests import manifests, objects
from deploy.options import EtcdOptions, ManifestOptions, OptionsError

OPTIONS = ManifestOptions(image="registry.example.com/inference-apiserver:1")


def documents(options: ManifestOptions = OPTIONS) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(manifests(options)))


def of_kind(kind: str, options: ManifestOptions = OPTIONS) -> list[dict[str, Any]]:
    return [document for document in documents(options) if document["kind"] == kind]


def rules() -> Iterator[dict[str, Any]]:
    for document in documents():
        yield from document.get("rules", ())


def pods() -> list[dict[str, Any]]:
    return [d["spec"]["template"]["spec"] for d in documents() if d["kind"] in ("Deployment", "StatefulSet")]


def test_the_text_is_the_same_every_time_and_says_what_the_objects_say() -> None:
    assert manifests(OPTIONS) == manifests(OPTIONS)
    assert documents() == objects(OPTIONS)


def test_no_permission_has_a_star() -> None:
    for rule in rules():
        for values in rule.values():
            assert not [value for value in values if "*" in value], rule


def test_secrets_and_api_services_are_reached_by_name_alone() -> None:
    for rule in rules():
        if {"secrets", "apiservices"} & set(rule["resources"]):
            assert rule["resourceNames"], rule


def test_the_api_services_come_last_and_prefer_v1() -> None:
    last = documents()[-2:]
    assert [document["metadata"]["name"] for document in last] == [
        "v1.ai.example.com",
        "v1alpha1.ai.example.com",
    ]
    assert last[0]["spec"]["versionPriority"] > last[1]["spec"]["versionPriority"]
    assert "insecureSkipTLSVerify" not in manifests(OPTIONS)
    assert "caBundle" not in last[0]["spec"]


def test_priorities_and_bundle_can_be_chosen() -> None:
    options = ManifestOptions(ca_bundle=b"PEM", group_priority_minimum=42, version_priority=7)
    spec = of_kind("APIService", options)[0]["spec"]
    assert base64.b64decode(spec["caBundle"]) == b"PEM"
    assert (spec["groupPriorityMinimum"], spec["versionPriority"]) == (42, 7)


def test_everything_namespaced_is_in_the_chosen_namespace_but_the_right_to_read_the_front_proxys_ca() -> None:
    options = ManifestOptions(namespace="elsewhere")
    outside = {
        document["metadata"]["name"]
        for document in documents(options)
        if document["metadata"].get("namespace", "elsewhere") != "elsewhere"
    }
    assert outside == {"inference-apiserver:auth-reader"}
    assert "ai-system" not in manifests(options)


def test_every_container_runs_without_privileges_on_a_read_only_root() -> None:
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"]
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert not security["allowPrivilegeEscalation"]
            assert {"startupProbe", "livenessProbe", "readinessProbe", "resources"} <= container.keys()


def test_the_secret_is_applied_without_content_so_that_its_content_survives() -> None:
    (secret,) = of_kind("Secret")
    assert "data" not in secret
    assert "stringData" not in secret


def test_an_etcd_that_exists_is_used_instead_of_ours() -> None:
    options = ManifestOptions(etcd=EtcdOptions(servers=("https://a:2379", "https://b:2379")))
    assert not of_kind("StatefulSet", options)
    args = of_kind("Deployment", options)[0]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--etcd-servers=https://a:2379,https://b:2379" in args
    assert not [arg for arg in args if "max-txn-ops" in arg], "its limits are not ours to know"


def test_our_etcd_and_the_server_agree_on_the_size_of_a_transaction() -> None:
    (etcd,) = of_kind("StatefulSet", ManifestOptions())
    (deployment,) = of_kind("Deployment", ManifestOptions())
    assert "--max-txn-ops=4096" in etcd["spec"]["template"]["spec"]["containers"][0]["command"]
    args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert serve_config("serve", args[1:]).storage.max_txn_ops == 4096


def test_an_etcd_of_three_knows_its_members() -> None:
    (etcd,) = of_kind("StatefulSet", ManifestOptions(etcd=EtcdOptions(replicas=3, storage_class="fast")))
    (flag,) = [
        part
        for part in etcd["spec"]["template"]["spec"]["containers"][0]["command"]
        if part.startswith("--initial-cluster=")
    ]
    assert flag.count("http://") == 3
    assert etcd["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] == "fast"


@pytest.mark.parametrize(
    "options",
    [
        {"replicas": 0},
        {"group_priority_minimum": 0},
        {"group_priority_minimum": 20001},
        {"version_priority": 1},
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(OptionsError):
        ManifestOptions(**options)
    with pytest.raises(OptionsError):
        EtcdOptions(replicas=2)


def test_the_server_understands_the_command_line_of_its_deployment() -> None:
    (deployment,) = of_kind("Deployment", ManifestOptions(namespace="elsewhere", extra_args=("-v=2",)))
    command, *flags = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert command == "serve"
    config = serve_config("serve", flags)
    assert config.serving.cert_secret == ("elsewhere", "inference-apiserver-certs")
    assert config.serving.service_namespace == "elsewhere"
    assert config.verbosity == 2
