"""What may be created where; the texts themselves are compared with a CRD's in tests/conformance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from apiserver.admission.chain import AdmissionChain
from apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from apiserver.apis.ai.resources import GPU_NODES, INFERENCE_JOBS
from apiserver.machinery import errors
from apiserver.machinery.errors import APIError
from apiserver.machinery.gvk import GroupResource
from apiserver.machinery.options import WriteOptions
from apiserver.machinery.resource import Resource
from apiserver.registry.hooks import Attributes, Operation

ACTIVE = {"metadata": {"name": "ml"}, "status": {"phase": "Active"}}
TERMINATING = {"metadata": {"name": "ml"}, "status": {"phase": "Terminating"}}
DELETED = {"metadata": {"name": "ml", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {}}


class Cluster:
    """The namespaces of a cluster, and how often it was asked for one live."""

    def __init__(
        self,
        followed: Mapping[str, Any] | None = None,
        live: Mapping[str, Any] | None = None,
        fault: APIError | None = None,
    ) -> None:
        self._followed = followed
        self._live = live
        self._fault = fault
        self.asked = 0

    def cached(self, name: str) -> Mapping[str, Any] | None:
        return self._followed

    async def live(self, name: str) -> Mapping[str, Any]:
        self.asked += 1
        if self._fault is not None:
            raise self._fault
        if self._live is None:
            raise errors.not_found(GroupResource("", "namespaces"), name)
        return self._live


async def judged(
    cluster: Cluster,
    operation: Operation = "CREATE",
    *,
    resource: Resource = INFERENCE_JOBS,
    dry_run: bool = False,
    **meta: str,
) -> None:
    """Send one request through admission."""
    namespace = "ml" if resource.namespaced else ""
    obj = {"metadata": {"namespace": namespace, **meta}}
    attributes = Attributes(
        operation,
        resource,
        "v1",
        namespace,
        meta.get("name", ""),
        "",
        None if operation == "DELETE" else obj,
        None if operation == "CREATE" else obj,
        WriteOptions(dry_run=dry_run),
        None,
    )
    chain = AdmissionChain([NamespaceLifecycle(cluster)])
    await chain.admit(attributes)
    await chain.validate(attributes)


async def test_an_active_namespace_takes_new_objects_without_being_looked_up() -> None:
    cluster = Cluster(followed=ACTIVE)
    await judged(cluster, name="a")
    assert cluster.asked == 0


async def test_a_namespace_that_the_informer_does_not_know_yet_is_looked_up_live() -> None:
    cluster = Cluster(live=ACTIVE)
    await judged(cluster, name="a")
    assert cluster.asked == 1


@pytest.mark.parametrize("dry_run", [False, True])
async def test_nothing_is_created_in_a_namespace_that_is_not_there(dry_run: bool) -> None:
    with pytest.raises(APIError) as refused:
        await judged(Cluster(), name="a", dry_run=dry_run)
    assert (refused.value.code, str(refused.value)) == (404, 'namespaces "ml" not found')


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("namespace", [TERMINATING, DELETED])
async def test_nothing_is_created_in_a_namespace_that_is_going(
    namespace: Mapping[str, Any], dry_run: bool
) -> None:
    for cluster in (Cluster(followed=namespace), Cluster(live=namespace)):
        with pytest.raises(APIError) as refused:
            await judged(cluster, name="a", dry_run=dry_run)
        assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
        assert [cause.to_json() for cause in refused.value.causes] == [
            {
                "reason": "NamespaceTerminating",
                "message": "namespace ml is being terminated",
                "field": "metadata.namespace",
            }
        ]


@pytest.mark.parametrize(
    ("meta", "shown"),
    [({"name": "a"}, "a"), ({"generateName": "gen-"}, "gen-"), ({}, "Unknown")],
)
async def test_an_object_without_a_name_is_refused_under_what_there_is_of_one(
    meta: dict[str, str], shown: str
) -> None:
    with pytest.raises(APIError) as refused:
        await judged(Cluster(followed=TERMINATING), **meta)
    assert refused.value.name == shown
    assert str(refused.value).startswith(f'inferencejobs.ai.example.com "{shown}" is forbidden: ')


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE"])
async def test_what_is_there_already_can_be_changed_and_deleted_to_the_end(operation: Operation) -> None:
    cluster = Cluster(followed=TERMINATING)
    await judged(cluster, operation, name="a")
    await judged(Cluster(), operation, name="a")
    assert cluster.asked == 0


async def test_objects_of_the_cluster_are_in_no_namespace() -> None:
    cluster = Cluster()
    await judged(cluster, resource=GPU_NODES, name="a")
    assert cluster.asked == 0


async def test_a_cluster_that_does_not_answer_makes_the_client_wait() -> None:
    for fault in (errors.unavailable("gone"), errors.internal("broken"), errors.timeout("slow")):
        with pytest.raises(APIError) as refused:
            await judged(Cluster(fault=fault), name="a")
        assert (refused.value.code, refused.value.retry_after_seconds) == (503, 1)
