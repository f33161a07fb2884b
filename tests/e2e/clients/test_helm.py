"""Helm keeps charts with our kinds: its merges leave alone what others have written.

For kinds that it has no Go types of, Helm 3 makes a JSON merge patch of the old manifest and the new one;
what is live counts as well when it takes over objects (`pkg/kube/client.go`, createPatch).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster import jobs
from cluster.rest import Rest
from cluster.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("ai_server")]

Helm = Callable[..., str]

CHART = """\
apiVersion: v2
name: llama
version: 0.1.0
"""
TEMPLATE = """\
apiVersion: ai.example.com/v1
kind: InferenceJob
metadata:
  name: llama
  labels:
    chart: llama
  {{- with .Values.annotation }}
  annotations:
    note: {{ . }}
  {{- end }}
spec:
  image: registry.example.com/vllm:{{ .Values.tag }}
  suspend: true
  gpuCount: {{ .Values.gpus }}
  {{- with .Values.deadline }}
  activeDeadlineSeconds: {{ . }}
  {{- end }}
"""
VALUES = """\
tag: v1
gpus: 1
deadline: 60
annotation: first
"""


@pytest.fixture
def chart(tmp_path: Path) -> str:
    folder = tmp_path / "llama"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(CHART)
    (folder / "values.yaml").write_text(VALUES)
    (folder / "templates" / "job.yaml").write_text(TEMPLATE)
    return str(folder)


def _job(rest: Rest, namespace: str) -> dict[str, Any]:
    return jobs.get(rest, namespace, "llama")


def test_an_upgrade_changes_what_the_chart_changes_and_nothing_else(
    helm: Helm, chart: str, rest: Rest, namespace: str
) -> None:
    where = f"--namespace={namespace}"
    helm("install", "it", chart, where)
    assert _job(rest, namespace)["spec"]["gpuCount"] == 1
    foreign = {"metadata": {"labels": {"team": "a"}}, "spec": {"priority": 7}}
    rest.merge(jobs.path(namespace, "llama"), foreign)

    helm("upgrade", "it", chart, where, "--set=tag=v2,deadline=null,annotation=")
    upgraded = _job(rest, namespace)
    assert upgraded["spec"]["image"].endswith(":v2")
    assert "activeDeadlineSeconds" not in upgraded["spec"], "what the chart drops is taken out"
    assert "note" not in upgraded["metadata"]["annotations"]
    assert upgraded["metadata"]["labels"]["team"] == "a", "what others have added stays"
    assert upgraded["spec"]["priority"] == 7
    assert upgraded["metadata"]["generation"] == 3


def test_a_drift_in_what_the_chart_says_is_put_right_by_force(
    helm: Helm, chart: str, rest: Rest, namespace: str
) -> None:
    where = f"--namespace={namespace}"
    helm("install", "it", chart, where)
    rest.merge(jobs.path(namespace, "llama"), {"spec": {"gpuCount": 4, "priority": 7}})
    helm("upgrade", "it", chart, where, "--force")
    spec = _job(rest, namespace)["spec"]
    # A replacement: what the chart does not say gets its default again.
    assert (spec["gpuCount"], spec["priority"]) == (1, 0)


def test_an_object_that_was_there_is_taken_over_by_a_three_way_merge(
    helm: Helm, chart: str, rest: Rest, namespace: str
) -> None:
    foreign = jobs.manifest("llama", suspend=True, gpuCount=4, priority=7)
    rest.create(jobs.path(namespace), foreign)
    helm("install", "it", chart, f"--namespace={namespace}", "--take-ownership")
    taken = _job(rest, namespace)
    assert (taken["spec"]["gpuCount"], taken["spec"]["priority"]) == (1, 7)
    assert taken["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"


def test_a_rollback_and_an_uninstall_work(helm: Helm, chart: str, rest: Rest, namespace: str) -> None:
    where = f"--namespace={namespace}"
    helm("install", "it", chart, where)
    helm("upgrade", "it", chart, where, "--set=tag=v2,gpus=2")
    helm("rollback", "it", "1", where)
    spec = _job(rest, namespace)["spec"]
    assert (spec["image"], spec["gpuCount"]) == ("registry.example.com/vllm:v1", 1)
    helm("uninstall", "it", where)
    eventually("it is gone", lambda: not rest.exists(jobs.path(namespace, "llama")))


def test_an_upgrade_that_changes_nothing_writes_nothing(
    helm: Helm, chart: str, rest: Rest, namespace: str
) -> None:
    where = f"--namespace={namespace}"
    helm("install", "it", chart, where)
    eventually(
        "it is settled", lambda: _job(rest, namespace).get("status", {}).get("observedGeneration") == 1
    )
    before = _job(rest, namespace)
    helm("upgrade", "it", chart, where)
    assert _job(rest, namespace) == before


def test_what_helm_is_refused_names_the_field(helm: Helm, chart: str, namespace: str) -> None:
    with pytest.raises(AssertionError, match=r"spec\.gpuCount: Invalid value: 0"):
        helm("install", "it", chart, f"--namespace={namespace}", "--set=gpus=0")
    template = Path(chart) / "templates" / "job.yaml"
    template.write_text(TEMPLATE + "  gpus: 3\n")
    # Helm leaves validation to a server that can do it, and asks for warnings.
    printed = helm("install", "other", chart, f"--namespace={namespace}").replace("\\", "")
    assert 'unknown field "spec.gpus"' in printed


def test_a_server_side_dry_run_shows_the_manifest(helm: Helm, chart: str, namespace: str) -> None:
    shown = helm("install", "it", chart, f"--namespace={namespace}", "--dry-run=server")
    assert "kind: InferenceJob" in shown
