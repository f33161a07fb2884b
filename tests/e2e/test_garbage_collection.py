"""The cluster's garbage collector works on both sides of our objects: what owns them, and what they own."""

from __future__ import annotations

from typing import Any

import pytest
from cluster import jobs
from cluster.rest import Rest
from cluster.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("ai_server")]
GC_SECONDS = 60
"""The collector learns of a new group within 30 s."""


def _config_map(rest: Rest, namespace: str, name: str, **metadata: Any) -> dict[str, Any]:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    made: dict[str, Any] = rest.create(path, {"metadata": {"name": name, **metadata}})
    return made


def _owner(kind: str, api_version: str, obj: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = obj["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        **more,
    }


def _job(rest: Rest, namespace: str, name: str, **metadata: Any) -> dict[str, Any]:
    manifest = jobs.manifest(name, suspend=True)
    manifest["metadata"] |= metadata
    made: dict[str, Any] = rest.create(jobs.path(namespace), manifest)
    return made


@pytest.fixture(autouse=True)
def _the_collector_knows_our_group(rest: Rest, namespace: str) -> None:
    """A job whose owner never was is collected, as soon as the collector follows our group."""
    ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-0000-0000-000000000001"}}
    _job(rest, namespace, "orphan", ownerReferences=[_owner("ConfigMap", "v1", ghost)])
    path = f"{jobs.path(namespace)}/orphan"
    eventually("the job of a ghost is collected", lambda: not rest.exists(path), GC_SECONDS)


def test_a_job_goes_with_the_object_that_owns_it(rest: Rest, namespace: str) -> None:
    owner = _config_map(rest, namespace, "owner")
    _job(rest, namespace, "owned", ownerReferences=[_owner("ConfigMap", "v1", owner)])
    rest.request("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/owner")
    path = f"{jobs.path(namespace)}/owned"
    eventually("the owned job is collected", lambda: not rest.exists(path), GC_SECONDS)


def test_an_owner_in_the_foreground_waits_for_the_job_that_blocks_it(rest: Rest, namespace: str) -> None:
    owner = _config_map(rest, namespace, "owner")
    blocking = _owner("ConfigMap", "v1", owner, blockOwnerDeletion=True)
    _job(rest, namespace, "held", ownerReferences=[blocking], finalizers=["example.com/hold"])
    owner_path = f"/api/v1/namespaces/{namespace}/configmaps/owner"
    rest.request("DELETE", f"{owner_path}?propagationPolicy=Foreground")
    path = f"{jobs.path(namespace)}/held"

    def is_deleting() -> bool:
        return "deletionTimestamp" in rest.get(path)["metadata"]

    eventually("the job is asked to go", is_deleting, GC_SECONDS)
    assert rest.exists(owner_path)
    rest.merge(path, {"metadata": {"finalizers": None}})
    eventually("the owner follows the job", lambda: not rest.exists(owner_path), GC_SECONDS)


def test_what_a_job_owns_goes_after_it(rest: Rest, namespace: str) -> None:
    job = _job(rest, namespace, "owner")
    _config_map(rest, namespace, "owned", ownerReferences=[_owner("InferenceJob", "ai.example.com/v1", job)])
    rest.request("DELETE", f"{jobs.path(namespace)}/owner")
    path = f"/api/v1/namespaces/{namespace}/configmaps/owned"
    eventually("the config map is collected", lambda: not rest.exists(path), GC_SECONDS)


def test_dependents_in_a_version_that_is_served_but_not_stored_find_their_owner(
    rest: Rest, namespace: str
) -> None:
    job = _job(rest, namespace, "owner")
    reference = _owner("InferenceJob", "ai.example.com/v1alpha1", job)
    _config_map(rest, namespace, "owned", ownerReferences=[reference])
    rest.request("DELETE", f"{jobs.path(namespace)}/owner")
    path = f"/api/v1/namespaces/{namespace}/configmaps/owned"
    eventually("the config map is collected", lambda: not rest.exists(path), GC_SECONDS)
