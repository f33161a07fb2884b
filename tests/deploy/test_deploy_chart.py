"""The chart is what the builders say, and renders to the same objects as the plain manifests."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.manifests import objects
from deploy.options import EtcdOptions, ManifestOptions

CHART = Path(__file__).parents[2] / "deploy" / "chart"
HELM = os.environ.get("HELM") or shutil.which("helm") or shutil.which("helm", path=Path.home() / "go" / "bin")
needs_helm = pytest.mark.skipif(
    HELM is None, reason="no helm: go install helm.sh/helm/v3/cmd/helm@v3.22.0, or set HELM to the program"
)


def rendered(*flags: str, namespace: str = "ai-system") -> list[dict[str, Any]]:
    where = (f"--namespace={namespace}", "--kube-version=1.36.0")
    command = [str(HELM), "template", "server", str(CHART), *where, *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def plain(**chosen: Any) -> list[dict[str, Any]]:
    """The plain manifests; the chart leaves the namespace to helm, and can choose a pull policy."""
    found = objects(ManifestOptions(**chosen))
    for document in found:
        if document["kind"] == "Deployment":
            for container in document["spec"]["template"]["spec"]["containers"]:
                container["imagePullPolicy"] = "IfNotPresent"
    return [document for document in found if document["kind"] != "Namespace"]


def by_name(documents: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(document["kind"], document["metadata"]["name"]): document for document in documents}


def test_the_templates_are_what_the_builders_say() -> None:
    generator = runpy.run_path(str(CHART / "generate.py"))
    for name, text in generator["chart"]().items():
        assert (CHART / "templates" / name).read_text() == generator["HEADER"] + text, (
            f"{name} is stale: run python deploy/chart/generate.py"
        )


@needs_helm
def test_the_chart_renders_to_the_plain_manifests() -> None:
    assert by_name(rendered()) == by_name(plain())


@needs_helm
def test_every_value_has_its_effect() -> None:
    flags = {
        "image.repository": "registry.example.com/server",
        "image.tag": "2",
        "replicas": "3",
        "extraArgs[0]": "-v=4",
        "apiService.groupPriorityMinimum": "42",
        "apiService.versionPriority": "7",
        "apiService.caBundle": "UEVN",
        "etcd.image": "registry.example.com/etcd:3",
        "etcd.storage": "1Gi",
        "etcd.storageClass": "fast",
    }
    found = rendered(*(f"--set={key}={value}" for key, value in flags.items()), namespace="elsewhere")
    options = {
        "namespace": "elsewhere",
        "image": "registry.example.com/server:2",
        "replicas": 3,
        "extra_args": ("-v=4",),
        "group_priority_minimum": 42,
        "version_priority": 7,
        "ca_bundle": b"PEM",
        "etcd": EtcdOptions(image="registry.example.com/etcd:3", storage="1Gi", storage_class="fast"),
    }
    assert by_name(found) == by_name(plain(**options))


@needs_helm
def test_an_etcd_that_exists_is_used_instead_of_ours() -> None:
    found = rendered("--set=etcd.servers={https://a:2379,https://b:2379}")
    servers = ("https://a:2379", "https://b:2379")
    assert by_name(found) == by_name(plain(etcd=EtcdOptions(servers=servers)))


@needs_helm
def test_helm_has_nothing_to_complain_of() -> None:
    done = subprocess.run(
        [str(HELM), "lint", "--strict", str(CHART)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout
