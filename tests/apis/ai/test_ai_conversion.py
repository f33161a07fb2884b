"""v1 and v1alpha1 lead to each other without loss, whatever a client puts into the annotation."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from apiserver.apis.ai.conversion import CARRIER, v1_to_v1alpha1, v1alpha1_to_v1

NAMES = st.text("abcdefgh-12", min_size=1, max_size=8)
PRODUCTS = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
COMMON = {
    "image": NAMES,
    "priority": st.integers(-9, 9),
    "suspend": st.booleans(),
    "nodeSelector": st.dictionaries(NAMES, NAMES, max_size=2),
    "podTemplate": st.dictionaries(
        st.sampled_from(["metadata", "spec", "gpus", "replicas"]), JSON, max_size=3
    ),
}
META = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "annotations": st.dictionaries(NAMES, NAMES, min_size=1, max_size=2),
        "generation": st.integers(1, 9),
    },
)
STATUS = st.fixed_dictionaries(
    {"phase": st.sampled_from(["Pending", "Ready"])}, optional={"attempts": st.integers(0, 3)}
)


def job(version: str, spec: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "apiVersion": st.just(f"ai.example.com/{version}"),
            "kind": st.just("InferenceJob"),
            "metadata": META,
            "spec": st.fixed_dictionaries(spec, optional={**COMMON, **optional}),
        },
        optional={"status": STATUS},
    )


V1 = job(
    "v1",
    {"gpuCount": st.integers(1, 16), "replicas": st.integers(1, 1000)},
    {"gpuProducts": st.lists(PRODUCTS, max_size=4, unique=True)},
)
V1ALPHA1 = job("v1alpha1", {"gpus": st.integers(1, 16)}, {"gpuType": PRODUCTS})


@given(V1)
def test_a_v1_job_survives_a_round_trip_through_v1alpha1(obj: dict[str, Any]) -> None:
    assert v1alpha1_to_v1(v1_to_v1alpha1(obj)) == obj


@given(V1ALPHA1)
def test_a_v1alpha1_job_survives_a_round_trip_through_v1(obj: dict[str, Any]) -> None:
    assert v1_to_v1alpha1(v1alpha1_to_v1(obj)) == obj


@given(V1, JSON | st.binary(max_size=20).map(lambda raw: raw.decode("latin-1")))
def test_whatever_a_client_writes_into_the_annotation_the_result_is_a_valid_v1_job(
    obj: dict[str, Any], forged: Any
) -> None:
    old = v1_to_v1alpha1(obj)
    text = (
        forged
        if isinstance(forged, str)
        else orjson.dumps({"replicas": forged, "gpuProducts": forged}).decode()
    )
    old["metadata"].setdefault("annotations", {})[CARRIER] = text
    spec = v1alpha1_to_v1(old)["spec"]
    assert isinstance(spec["replicas"], int)
    assert 1 <= spec["replicas"] <= 1000
    assert spec.get("gpuProducts", [None])[:1] in ([old["spec"].get("gpuType")], [])
    assert CARRIER not in v1alpha1_to_v1(old)["metadata"].get("annotations", {})


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "apiVersion"]), JSON))
def test_objects_of_any_shape_are_taken_and_left_as_they_were(obj: dict[str, Any]) -> None:
    before = deepcopy(obj)
    assert v1alpha1_to_v1(obj)["apiVersion"] == "ai.example.com/v1"
    assert v1_to_v1alpha1(obj)["apiVersion"] == "ai.example.com/v1alpha1"
    assert obj == before


@given(V1)
def test_the_conversion_does_not_change_its_argument(obj: dict[str, Any]) -> None:
    before = deepcopy(obj)
    v1alpha1_to_v1(v1_to_v1alpha1(obj))
    assert obj == before


def v1_job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"image": "i", "gpuCount": 2, "replicas": 1, **spec}}


def test_what_v1alpha1_can_say_needs_no_annotation() -> None:
    old = v1_to_v1alpha1(v1_job(gpuProducts=["H100"]))
    assert old["spec"] == {"image": "i", "gpus": 2, "gpuType": "H100"}
    assert old["metadata"] == {"name": "a"}


def test_what_v1alpha1_cannot_say_is_carried() -> None:
    old = v1_to_v1alpha1(v1_job(replicas=4, gpuProducts=["H100", "A100"]))
    assert old["metadata"]["annotations"] == {CARRIER: '{"gpuProducts":["H100","A100"],"replicas":4}'}


def test_an_old_client_that_changes_the_type_means_what_it_writes_and_keeps_the_replicas() -> None:
    old = v1_to_v1alpha1(v1_job(replicas=4, gpuProducts=["H100", "A100"]))
    old["spec"]["gpuType"] = "L40"
    spec = v1alpha1_to_v1(old)["spec"]
    assert (spec["gpuProducts"], spec["replicas"]) == (["L40"], 4)


def test_an_old_client_that_takes_the_type_away_gets_any_product() -> None:
    old = v1_to_v1alpha1(v1_job(gpuProducts=["H100", "A100"]))
    del old["spec"]["gpuType"]
    assert "gpuProducts" not in v1alpha1_to_v1(old)["spec"]


def test_an_annotation_that_a_v1_client_wrote_is_not_taken_over() -> None:
    forged = v1_job()
    forged["metadata"]["annotations"] = {CARRIER: '{"replicas":9}', "keep": "me"}
    old = v1_to_v1alpha1(forged)
    assert old["metadata"]["annotations"] == {"keep": "me"}


def test_a_job_without_replicas_in_v1alpha1_has_one_in_v1() -> None:
    assert v1alpha1_to_v1({"metadata": {}, "spec": {"gpus": 1}})["spec"] == {"gpuCount": 1, "replicas": 1}
