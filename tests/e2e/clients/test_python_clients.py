"""The official Python client against our group: dynamic, its informer, and the asynchronous one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import kubernetes
import pytest
from cluster import jobs
from cluster.controlplane import ControlPlane
from cluster.waiting import eventually
from kubernetes import aio
from kubernetes.aio.dynamic import DynamicClient as AioDynamicClient
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, UnprocessibleEntityError
from kubernetes.informer import SharedInformer

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("ai_server")]

API_VERSION = f"{jobs.GROUP}/v1"
MERGE = "application/merge-patch+json"


def held(name: str, **spec: Any) -> dict[str, Any]:
    """A job that asks for no GPUs, so that the controller leaves it alone."""
    return jobs.manifest(name, suspend=True, **spec)


@pytest.fixture
def api(controlplane: ControlPlane) -> Iterator[kubernetes.client.ApiClient]:
    client = kubernetes.config.new_client_from_config(str(controlplane.kubeconfig))
    yield client
    client.close()


@pytest.fixture
def dynamic(api: kubernetes.client.ApiClient) -> Any:
    """The inferencejobs, found by discovery."""
    return DynamicClient(api).resources.get(api_version=API_VERSION, kind=jobs.KIND)


@pytest.fixture
async def aio_api(controlplane: ControlPlane) -> AsyncIterator[aio.client.ApiClient]:
    client = await aio.config.new_client_from_config(str(controlplane.kubeconfig))
    yield client
    await client.close()


def test_discovery_finds_both_kinds_and_the_short_name(api: kubernetes.client.ApiClient) -> None:
    resources = DynamicClient(api).resources
    short = resources.search(short_names=["ij"], group=jobs.GROUP)
    assert {found.group_version for found in short} == {API_VERSION, f"{jobs.GROUP}/v1alpha1"}
    assert not resources.get(api_version=API_VERSION, kind="GPUNode").namespaced
    [preferred] = resources.search(group=jobs.GROUP, kind=jobs.KIND, preferred=True)
    assert preferred.group_version == API_VERSION
    assert set(preferred.subresources) == {"status", "scale"}


def test_an_object_goes_through_its_life(dynamic: Any, namespace: str) -> None:
    created = dynamic.create(body=held("a"), namespace=namespace)
    assert created.spec.gpuCount == 1
    patched = dynamic.patch(body={"spec": {"priority": 3}}, name="a", namespace=namespace, content_type=MERGE)
    assert patched.spec.priority == 3
    body = dynamic.get(name="a", namespace=namespace).to_dict()
    body["spec"]["image"] = "registry.example.com/vllm:1.0"
    replaced = dynamic.replace(body=body, namespace=namespace)
    assert replaced.metadata.generation == 3
    with pytest.raises(ConflictError):
        dynamic.replace(body=body, namespace=namespace)
    dynamic.delete(name="a", namespace=namespace)
    eventually("it is gone", lambda: not dynamic.get(namespace=namespace).items)
    with pytest.raises(NotFoundError):
        dynamic.get(name="a", namespace=namespace)


def test_what_is_invalid_is_told_by_field(dynamic: Any, namespace: str) -> None:
    with pytest.raises(UnprocessibleEntityError) as raised:
        dynamic.create(body=held("a", gpuCount=0), namespace=namespace)
    causes = json.loads(raised.value.body)["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["spec.gpuCount"]


def test_appliers_conflict_and_can_force(dynamic: Any, namespace: str) -> None:
    apply = partial(dynamic.server_side_apply, namespace=namespace, name="a")
    apply(body=held("a", priority=1), field_manager="mine")
    with pytest.raises(ConflictError):
        apply(body=held("a", priority=2), field_manager="other")
    forced = apply(body=held("a", priority=2), field_manager="other", force_conflicts=True)
    managers = {entry.manager for entry in forced.metadata.managedFields if entry.operation == "Apply"}
    assert managers == {"mine", "other"}


def test_lists_are_read_in_pages_and_by_selectors(dynamic: Any, namespace: str) -> None:
    for name in "abc":
        dynamic.create(body=held(name, priority=ord(name)), namespace=namespace)
    first = dynamic.get(namespace=namespace, limit=2)
    rest = dynamic.get(namespace=namespace, limit=2, _continue=first.metadata["continue"])
    assert [item.metadata.name for item in [*first.items, *rest.items]] == ["a", "b", "c"]
    chosen = dynamic.get(namespace=namespace, field_selector=f"spec.priority={ord('b')}")
    assert [item.metadata.name for item in chosen.items] == ["b"]


def test_status_and_scale_are_reached_as_subresources(dynamic: Any, namespace: str) -> None:
    dynamic.create(body=held("a"), namespace=namespace)
    scaled = dynamic.scale.patch(
        body={"spec": {"replicas": 3}}, name="a", namespace=namespace, content_type=MERGE
    )
    assert (scaled.kind, scaled.spec.replicas) == ("Scale", 3)
    status = dynamic.status.get(name="a", namespace=namespace)
    assert status.spec.replicas == 3


def test_a_watch_tells_what_comes_after_a_list(dynamic: Any, namespace: str) -> None:
    dynamic.create(body=held("before"), namespace=namespace)
    revision = dynamic.get(namespace=namespace).metadata.resourceVersion
    dynamic.create(body=held("after"), namespace=namespace)
    dynamic.delete(name="before", namespace=namespace)
    wanted = {("ADDED", "after"), ("DELETED", "before")}
    seen: set[tuple[str, str]] = set()
    for event in dynamic.watch(namespace=namespace, resource_version=revision, timeout=20):
        seen.add((event["type"], event["object"].metadata.name))
        if wanted <= seen:
            break
    assert wanted <= seen
    assert ("ADDED", "before") not in seen


def test_a_watch_that_begins_with_everything_marks_its_end(dynamic: Any, namespace: str) -> None:
    dynamic.create(body=held("a"), namespace=namespace)
    events = dynamic.watch(
        namespace=namespace,
        timeout=20,
        send_initial_events=True,
        allow_watch_bookmarks=True,
        resource_version_match="NotOlderThan",
    )
    assert (next(events)["type"]) == "ADDED"
    bookmark = next(event for event in events if event["type"] == "BOOKMARK")
    annotations = bookmark["raw_object"]["metadata"]["annotations"]
    assert annotations["k8s.io/initial-events-end"] == "true"
    events.close()


def test_the_informer_keeps_a_copy(api: kubernetes.client.ApiClient, namespace: str) -> None:
    custom = kubernetes.client.CustomObjectsApi(api)
    list_jobs = partial(
        custom.list_namespaced_custom_object, group=jobs.GROUP, version="v1", plural="inferencejobs"
    )

    def listed(namespace: str, **options: Any) -> object:
        """The informer wants lists with attributes, which custom objects do not have.

        :return: object
        """
        answer = list_jobs(namespace=namespace, **options)
        if not isinstance(answer, dict):
            return answer
        metadata = SimpleNamespace(resource_version=answer["metadata"]["resourceVersion"])
        return SimpleNamespace(items=answer["items"], metadata=metadata)

    create = partial(
        custom.create_namespaced_custom_object,
        group=jobs.GROUP,
        version="v1",
        namespace=namespace,
        plural="inferencejobs",
    )
    create(body=held("a"))
    seen: list[str] = []
    failures: list[Any] = []
    informer = SharedInformer(list_func=listed, namespace=namespace)
    for kind in ("ADDED", "DELETED"):
        informer.add_event_handler(
            kind, lambda obj, kind=kind: seen.append(f"{kind} {obj['metadata']['name']}")
        )
    informer.add_event_handler("ERROR", failures.append)
    informer.start()
    try:
        eventually("the first is there", lambda: informer.cache.list_keys() == [f"{namespace}/a"])
        create(body=held("b"))
        eventually("the second is there", lambda: len(informer.cache.list_keys()) == 2)
        custom.delete_namespaced_custom_object(jobs.GROUP, "v1", namespace, "inferencejobs", "a")
        eventually("the first is gone", lambda: informer.cache.list_keys() == [f"{namespace}/b"])
        cached = informer.cache.get_by_key(f"{namespace}/b")
        assert cached["spec"]["gpuCount"] == 1
        assert seen == ["ADDED a", "ADDED b", "DELETED a"]
        assert not failures
    finally:
        # The client takes its own way of stopping for a failure.
        informer.stop()


async def test_the_asynchronous_client_lists_applies_and_watches(
    aio_api: aio.client.ApiClient, namespace: str
) -> None:
    client = await AioDynamicClient(aio_api)
    resource = await client.resources.get(api_version=API_VERSION, kind=jobs.KIND)
    listed = await resource.get(namespace=namespace)
    assert listed.items == []
    revision = listed.metadata.resourceVersion

    async def seen() -> list[tuple[str, str]]:
        events: list[tuple[str, str]] = []
        async with aio.watch.Watch() as watcher:
            async for event in resource.watch(
                namespace=namespace, resource_version=revision, timeout=20, watcher=watcher
            ):
                told = (event["type"], event["object"].metadata.name)
                if told[0] != "MODIFIED":
                    events.append(told)
                if told == ("DELETED", "b"):
                    watcher.stop()
        return events

    async def write() -> None:
        for name in ("a", "b"):
            await client.server_side_apply(
                resource, body=held(name), name=name, namespace=namespace, field_manager="aio"
            )
        await client.delete(resource, name="b", namespace=namespace)

    async with asyncio.timeout(30):
        events, _ = await asyncio.gather(seen(), write())
    assert events == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "b")]


async def test_the_asynchronous_client_patches_and_reads_custom_objects(
    aio_api: aio.client.ApiClient, namespace: str
) -> None:
    custom = aio.client.CustomObjectsApi(aio_api)
    where = {"group": jobs.GROUP, "version": "v1", "namespace": namespace, "plural": "inferencejobs"}
    await custom.create_namespaced_custom_object(**where, body=held("a"))
    patched = await custom.patch_namespaced_custom_object(
        **where, name="a", body={"spec": {"priority": 4}}, _content_type=MERGE
    )
    assert patched["spec"]["priority"] == 4
    read = await custom.get_namespaced_custom_object(**where, name="a")
    assert read["metadata"]["generation"] == 2
    everywhere = await custom.list_cluster_custom_object(jobs.GROUP, "v1", "inferencejobs", limit=500)
    assert ("a", namespace) in {
        (item["metadata"]["name"], item["metadata"]["namespace"]) for item in everywhere["items"]
    }
