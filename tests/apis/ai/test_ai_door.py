"""What is turned away at the door by the schema, before any rule of ours is asked."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.apis.ai.resources import INFERENCE_JOBS

V1 = INFERENCE_JOBS.by_version["v1"].schema
V1ALPHA1 = INFERENCE_JOBS.by_version["v1alpha1"].schema


def job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "ai.example.com/v1",
        "kind": "InferenceJob",
        "metadata": {"name": "a", "namespace": "ml"},
        "spec": {"image": "vllm:1", **spec},
    }


def wrong(**spec: Any) -> list[str]:
    obj = job(**spec)
    V1.default(obj)
    return [str(error) for error in V1.validate(obj)]


FULL: dict[str, Any] = {
    "image": "registry.example.com/vllm:0.9",
    "model": "s3://models/llama-3-8b",
    "command": ["serve"],
    "args": ["--fast"],
    "env": [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"secretKeyRef": {"key": "k"}}}],
    "gpuCount": 2,
    "gpuResource": "nvidia.com/mig-1g.10gb",
    "gpuProducts": ["NVIDIA-H100-80GB-HBM3"],
    "resources": {"cpu": "8", "memory": "64Gi"},
    "replicas": 4,
    "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}],
    "priority": -5,
    "restartPolicy": "Never",
    "backoffLimit": 0,
    "activeDeadlineSeconds": 3600,
    "ttlSecondsAfterFinished": 0,
    "suspend": True,
    "scratch": {"size": "100Gi", "storageClassName": "fast"},
    "podTemplate": {"spec": {"anything": [{"is": "kept"}]}},
}


def test_a_job_with_every_field_is_let_in_and_nothing_of_it_is_dropped() -> None:
    obj = job(**FULL)
    assert V1.prune(obj) == []
    V1.default(obj)
    assert V1.validate(obj) == []
    assert obj["spec"]["podTemplate"] == FULL["podTemplate"]


def test_defaults_are_those_of_the_contract() -> None:
    obj = job()
    V1.default(obj)
    assert obj["spec"] == {
        "image": "vllm:1",
        "gpuCount": 1,
        "gpuResource": "nvidia.com/gpu",
        "replicas": 1,
        "priority": 0,
        "restartPolicy": "OnFailure",
        "backoffLimit": 3,
        "suspend": False,
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gpuCount", 0.5),
        ("gpuCount", "1.0"),
        ("gpuCount", -1),
        ("gpuCount", 0),
        ("gpuCount", True),
        ("gpuCount", 2**31),
        ("replicas", 0),
        ("replicas", 1001),
        ("image", ""),
        ("image", "vllm:1\n"),
        ("image", "two words"),
        ("model", "no uri"),
        ("gpuResource", "gpu"),
        ("gpuResource", "nvidia.com/gpu\n"),
        ("restartPolicy", "Sometimes"),
        ("backoffLimit", -1),
        ("activeDeadlineSeconds", 0),
        ("ttlSecondsAfterFinished", -1),
        ("suspend", "yes"),
        ("priority", 1_000_000_001),
        ("podTemplate", []),
        ("scratch", {}),
        ("env", [{"name": "A=B"}]),
        ("env", [{"name": "A"}, {"name": "A"}]),
        ("gpuProducts", ["H100", "H100"]),
        ("gpuProducts", ["no good"]),
        ("resources", {"cpu": "much"}),
        ("tolerations", [{"operator": "Near"}]),
    ],
)
def test_nonsense_is_turned_away_with_the_path_of_the_field(field: str, value: Any) -> None:
    found = wrong(**{field: value})
    assert found
    # Upstream's check of integer formats has the path in its text alone.
    assert all(f"spec.{field}" in error for error in found), found


def test_a_job_without_an_image_or_a_spec_is_turned_away() -> None:
    assert [error.path for error in V1.validate({**job(), "spec": {}})] == ["spec.image"]
    without = job()
    del without["spec"]
    assert [error.path for error in V1.validate(without)] == ["spec"]


def test_an_unknown_field_is_found_by_its_path() -> None:
    assert V1.prune(job(gpus=1, env=[{"name": "A", "vlaue": "x"}])) == ["spec.env[0].vlaue", "spec.gpus"]
    assert V1ALPHA1.prune(job(replicas=1)) == ["spec.replicas"]


def test_a_job_that_comes_through_the_old_version_fits_the_schema_of_the_new_one() -> None:
    old = {**job(gpus=2, gpuType="H100"), "apiVersion": "ai.example.com/v1alpha1"}
    V1ALPHA1.default(old)
    assert V1ALPHA1.validate(old) == []
    new = INFERENCE_JOBS.convert(old, "v1alpha1", "v1")
    assert V1.prune(new) == []
    before = {**new, "spec": dict(new["spec"])}
    V1.default(new)
    assert new == before, "the conversion leaves nothing for the defaults of v1 to fill in"
    assert V1.validate(new) == []
    back = INFERENCE_JOBS.convert(new, "v1", "v1alpha1")
    assert V1ALPHA1.validate(back) == []
    assert V1ALPHA1.prune(back) == []
