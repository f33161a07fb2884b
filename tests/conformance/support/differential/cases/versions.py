"""The older version beside the stored one: only what needs no conversion, which the CRD has not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from differential.case import JSON, MERGE, Case, Request, create, job

OLD = "/apis/${group}/v1alpha1/namespaces/${ns}/inferencejobs"


def _old(name: str = "a", **spec: Any) -> dict[str, Any]:
    return job(name, spec=spec, apiVersion="${group}/v1alpha1")


def _post(body: Any, query: str = "") -> Request:
    return Request("POST", OLD + (f"?{query}" if query else ""), body, {"Content-Type": JSON})


INVALID: dict[str, Any] = {
    "gpus zero": _old(gpus=0),
    "gpus string": _old(gpus="1"),
    "gpus fraction": _old(gpus=0.5),
    "type empty": _old(gpuType=""),
    "no image": _old(image=None),
    "several": _old(gpus=0, priority=2_000_000_000),
    "newer version in the body": job(),
    "unserved version in the body": job(apiVersion="${group}/v9"),
    "no version in the body": {key: value for key, value in job().items() if key != "apiVersion"},
}


def cases() -> Iterator[Case]:
    """The rows about v1alpha1."""
    for name, body in INVALID.items():
        yield Case(f"v1alpha1: create, {name}", [_post(body)])
    for level in ("Strict", "Warn", "Ignore"):
        dry = f"fieldValidation={level}&dryRun=All"
        yield Case(f"v1alpha1: a field of v1, {level}", [_post(_old(gpus=0, replicas=2), dry)])
    yield Case("v1alpha1: discovery", [Request("GET", "/apis/${group}/v1alpha1", extract=_resources)])
    yield Case("v1alpha1: list of nothing", [Request("GET", OLD)])
    yield Case("v1alpha1: get of nothing", [Request("GET", OLD + "/a")])
    yield Case("v1alpha1: delete", [create(), Request("DELETE", OLD + "/a"), Request("GET", OLD + "/a")])
    yield Case("v1alpha1: patch of nothing", [Request("PATCH", OLD + "/a", {}, {"Content-Type": MERGE})])
    yield Case("v1alpha1: partial", [create(), Request("GET", OLD + "/a", headers={"Accept": _PARTIAL})])
    yield Case(
        "v1alpha1: an invalid patch",
        [create(), Request("PATCH", OLD + "/a", {"spec": {"gpus": 0}}, {"Content-Type": MERGE})],
    )


_PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def _resources(document: Any, group: str) -> Any:
    return [resource for resource in document["resources"] if resource["name"].startswith("inferencejobs")]
