"""The rules between the fields of a job, and what may not change."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.apis.ai.conversion import CARRIER
from apiserver.apis.ai.strategy import FIXED_WHILE_HELD, InferenceJobStrategy
from apiserver.controllers.inferencejob.pods import demand_of
from apiserver.controllers.inferencejob.view import JobView

STRATEGY = InferenceJobStrategy()


def job(**spec: Any) -> dict[str, Any]:
    defaults = {
        "image": "vllm:1",
        "gpuCount": 2,
        "gpuResource": "nvidia.com/gpu",
        "replicas": 1,
        "restartPolicy": "OnFailure",
    }
    return {"metadata": {"name": "llama", "namespace": "ml"}, "spec": {**defaults, **spec}}


def errors(**spec: Any) -> list[str]:
    return [str(error) for error in STRATEGY.validate(job(**spec))]


def pod(**spec: Any) -> dict[str, Any]:
    return {"podTemplate": {"spec": spec}}


def test_a_full_job_breaks_no_rule() -> None:
    assert not errors(
        model="s3://models/llama",
        env=[
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        resources={"cpu": "8", "memory": "64Gi", "hugepages-2Mi": "2Mi", "rdma/hca": 1},
        nodeSelector={"topology.kubernetes.io/zone": "a", "empty": ""},
        tolerations=[
            {"operator": "Exists"},
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 30},
        ],
        scratch={"size": "100Gi"},
        podTemplate={
            "metadata": {"labels": {"team": "x"}, "annotations": {"a/b": "c"}, "creationTimestamp": None},
            "spec": {
                "containers": [{"name": "inference", "resources": {"limits": {"cpu": 1}}}, {"name": "log"}],
                "volumes": [{"name": "models", "emptyDir": {}}],
                "nodeSelector": {},
            },
        },
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"resources": {"nvidia.com/gpu": 1}},
            "spec.resources[nvidia.com/gpu]: Forbidden: the number of GPUs is given by spec.gpuCount",
        ),
        (
            {"resources": {"cpus": "1"}},
            'spec.resources[cpus]: Invalid value: "cpus": must be a standard resource type or fully '
            "qualified",
        ),
        (
            {"resources": {"cpu": "-1"}},
            'spec.resources[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"gpuResource": "node.kubernetes.io/gpu"},
            'spec.gpuResource: Invalid value: "node.kubernetes.io/gpu": must be an extended '
            "resource, outside of the "
            "kubernetes.io domain",
        ),
        (
            {"model": "s3://m", "env": [{"name": "INFERENCE_MODEL", "value": "x"}]},
            "spec.env[0].name: Forbidden: INFERENCE_MODEL is set from spec.model",
        ),
        (
            {"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            'spec.env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
        ),
        (
            {"env": [{"name": "A", "valueFrom": {}}]},
            'spec.env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, '
            "`configMapKeyRef` or `secretKeyRef`",
        ),
        (
            {"tolerations": [{"value": "x"}]},
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when '
            "`key` is empty, which "
            'means "match all values and all keys"',
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]},
            'spec.tolerations[0].operator: Invalid value: "x": value must be empty when `operator` '
            "is 'Exists'",
        ),
        (
            {"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]},
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when "
            "`tolerationSeconds` is set",
        ),
        (
            {"scratch": {"size": "0.0Gi"}},
            'spec.scratch.size: Invalid value: "0.0Gi": must be greater than zero',
        ),
        (
            {"podTemplate": {"kind": "Pod"}},
            "spec.podTemplate.kind: Forbidden: a pod template has metadata and spec only",
        ),
        ({"podTemplate": {"spec": 1}}, "spec.podTemplate.spec: Invalid value: 1: must be an object"),
        (
            {"podTemplate": {"metadata": {"labels": {"ai.example.com/job": "x"}}}},
            "spec.podTemplate.metadata.labels[ai.example.com/job]: Forbidden: keys under "
            "ai.example.com/ are set by "
            "the controller",
        ),
        (
            {"podTemplate": {"metadata": {"annotations": {"a": 1}}}},
            "spec.podTemplate.metadata.annotations[a]: Invalid value: 1: must be a string",
        ),
        (
            pod(nodeName="gpu-1"),
            "spec.podTemplate.spec.nodeName: Forbidden: nodes are chosen by the placement",
        ),
        (
            pod(containers=[{"name": "x", "resources": {"limits": {"nvidia.com/gpu": 8}}}]),
            "spec.podTemplate.spec.containers[0].resources.limits[nvidia.com/gpu]: Forbidden: the "
            "number of GPUs is "
            "given by spec.gpuCount",
        ),
        (
            pod(initContainers=[{"name": "x"}], containers=[{"name": "x"}]),
            'spec.podTemplate.spec.initContainers[0].name: Duplicate value: "x"',
        ),
        (pod(containers=[{}]), "spec.podTemplate.spec.containers[0].name: Required value"),
        (
            pod(initContainers=[{"name": "inference"}]),
            'spec.podTemplate.spec.initContainers[0].name: Duplicate value: "inference"',
        ),
        (
            pod(containers=[{"name": "x", "env": [{"value": "1"}]}]),
            "spec.podTemplate.spec.containers[0].env[0].name: Required value",
        ),
        (
            pod(containers=[{"name": "x", "volumeMounts": ["m"]}]),
            'spec.podTemplate.spec.containers[0].volumeMounts[0]: Invalid value: "m": must be an object',
        ),
        (
            pod(containers=[{"name": "x", "resources": {"requests": {"cpu": None}}}]),
            "spec.podTemplate.spec.containers[0].resources.requests[cpu]: Invalid value: null: must be a "
            "quantity",
        ),
        (
            pod(containers=[{"name": "x", "resources": {"requests": {"cpu": "-1"}}}]),
            'spec.podTemplate.spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must '
            "be greater "
            "than or equal to 0",
        ),
        (pod(containers={}), "spec.podTemplate.spec.containers: Invalid value: {}: must be a list"),
    ],
)
def test_a_broken_rule_is_told_with_the_path_of_the_field(spec: dict[str, Any], expected: str) -> None:
    assert errors(**spec) == [expected]


def test_selectors_have_the_syntax_of_labels() -> None:
    found = errors(nodeSelector={"-a": "ok", "/b": "ok", "c": "no!", "a/b/c": "ok", "d" * 64: "ok"})
    assert len(found) == 5
    assert all(error.startswith("spec.nodeSelector") for error in found)


def test_a_name_that_does_not_fit_into_a_label_is_refused() -> None:
    obj = job()
    obj["metadata"]["name"] = "a" * 64
    assert [error.path for error in STRATEGY.validate(obj)] == ["metadata.name"]


@pytest.mark.parametrize("field", FIXED_WHILE_HELD)
def test_what_the_ledger_has_booked_cannot_change_while_gpus_are_held(field: str) -> None:
    old = job(gpuProducts=["H100"])
    old["status"] = {"placements": [{"replica": 0, "node": "n", "gpus": 2, "pod": "llama-0"}]}
    new = deepcopy(old)
    new["spec"][field] = {"gpuProducts": ["A100"], "gpuResource": "amd.com/gpu"}.get(field, 4)
    assert [str(error) for error in STRATEGY.validate_update(new, old)] == [
        f"spec.{field}: Forbidden: cannot be changed while GPUs are held: set spec.suspend to true first"
    ]


def test_other_fields_can_change_while_gpus_are_held_and_the_count_once_they_are_not() -> None:
    old = job()
    old["status"] = {"placements": [{"replica": 0, "node": "n", "gpus": 2}]}
    assert not STRATEGY.validate_update(
        {**old, "spec": {**old["spec"], "suspend": True, "gpuProducts": []}}, old
    )
    old["status"]["placements"] = [{"replica": 0, "node": "n", "gpus": 0}]
    assert not STRATEGY.validate_update({**old, "spec": {**old["spec"], "gpuCount": 8}}, old)


KEYS = "metadata spec labels containers initContainers env name resources requests cpu volumes volumeMounts"
TEMPLATES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["metadata", "kind"]), TEMPLATES),
    st.dictionaries(st.sampled_from(KEYS.split()), TEMPLATES),
)
def test_a_template_of_any_shape_is_judged_and_one_that_passes_makes_a_pod(
    rest: dict[str, Any], pod_spec: dict[str, Any]
) -> None:
    obj = job(podTemplate={**rest, "spec": pod_spec}, scratch={"size": "1Gi"}, env=[{"name": "A"}])
    found = STRATEGY.validate(obj)
    assert all(error.path.startswith("spec.podTemplate") for error in found)
    if not found:
        obj["metadata"] |= {"uid": "u", "generation": 1}
        demand_of(JobView(obj))


def test_scratch_is_immutable() -> None:
    old, new = job(scratch={"size": "1Gi"}), job(scratch={"size": "2Gi"})
    assert [error.path for error in STRATEGY.validate_update(new, old)] == ["spec.scratch"]


def test_a_new_job_is_pending_whatever_its_writer_says() -> None:
    obj = job()
    obj["status"] = {"phase": "Ready"}
    STRATEGY.prepare_for_create(obj)
    assert obj["status"] == {"phase": "Pending"}


def test_the_annotation_of_the_conversion_is_never_stored() -> None:
    for prepare in (
        STRATEGY.prepare_for_create,
        lambda obj: STRATEGY.prepare_for_update(obj, job()),
        lambda obj: STRATEGY.prepare_for_status_update(obj, job()),
    ):
        obj = job()
        obj["metadata"]["annotations"] = {CARRIER: "{}"}
        prepare(obj)
        assert "annotations" not in obj["metadata"]


def test_what_has_no_effect_is_warned_about() -> None:
    obj = job(restartPolicy="Always", ttlSecondsAfterFinished=1, **pod(restartPolicy="Always"))
    assert len(STRATEGY.warnings(obj)) == 2
    assert not STRATEGY.warnings(job())
