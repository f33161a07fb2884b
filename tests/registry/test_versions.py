"""One object, two versions: whatever an old client does, nothing of the newer version is lost."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from apiserver.machinery.errors import APIError
from apiserver.machinery.options import ListOptions, WriteOptions
from apiserver.machinery.patch import copy_json, parse_merge_patch
from apiserver.registry.hooks import Caller
from apiserver.registry.intake import take_in
from apiserver.registry.representation import PartialMetadata, TableForm, Whole
from apiserver.registry.selection import select
from apiserver.registry.verbs.list import list_objects
from apiserver.registry.verbs.patch import apply, patch
from apiserver.registry.verbs.watch import watch

Object = dict[str, Any]
OLD, NEW = "v1alpha1", "v1"


def old_job(**spec: Any) -> Object:
    return {
        "apiVersion": f"ai.example.com/{OLD}",
        "kind": "InferenceJob",
        "metadata": {"name": "llama", "namespace": "ml"},
        "spec": {"image": "vllm", **spec},
    }


async def stored(world: Any) -> Object:
    live: Object = await world.objects.get("inferencejobs", "ml", "llama")
    return live


async def read_as(world: Any, version: str) -> Object:
    resource = world.store.resource
    return copy_json(resource.convert(await stored(world), NEW, version))  # type: ignore[no-any-return]


async def apply_as(world: Any, version: str, manager: str, obj: Object, *, force: bool = False) -> Object:
    def finish(merged: Object) -> Object:
        take_in(world.store.resource, version, merged, applied=True)
        return merged

    options = WriteOptions(field_manager=manager, force=force)
    updated = await apply(
        world.store, version, "ml", "llama", "", lambda: copy_json(obj), finish, options, Caller()
    )
    return updated.stored.obj


async def patch_as(world: Any, version: str, change: Object) -> Object:
    parsed = parse_merge_patch(orjson.dumps(change))

    def patched(live: Object) -> Object:
        document: Object = parsed.apply(live)
        take_in(world.store.resource, version, document)
        return document

    options, caller = WriteOptions(), Caller(user_agent="old-client")
    updated = await patch(world.store, version, "ml", "llama", "", patched, options, caller)
    return updated.stored.obj


async def test_each_version_has_its_own_defaults(world: Any) -> None:
    await world.create(old_job(), version=OLD)
    assert (await stored(world))["spec"] == {
        "image": "vllm",
        "gpuCount": 1,
        "gpuResource": "nvidia.com/gpu",
        "replicas": 1,
        "priority": 0,
        "restartPolicy": "OnFailure",
        "backoffLimit": 3,
        "suspend": False,
    }


async def test_a_patch_by_an_old_client_keeps_what_it_does_not_know(world: Any) -> None:
    await world.create(world.job(gpuCount=2, replicas=4, gpuProducts=["A", "B"]))
    after = await patch_as(world, OLD, {"spec": {"gpus": 8}})
    assert after["spec"]["gpuCount"] == 8
    assert after["spec"]["replicas"] == 4
    assert after["spec"]["gpuProducts"] == ["A", "B"]


async def test_a_replacement_by_an_old_client_keeps_what_it_does_not_know(world: Any) -> None:
    await world.create(world.job(replicas=4, gpuProducts=["A", "B"]))
    seen = await read_as(world, OLD)
    seen["spec"]["priority"] = 7
    await world.update(seen, version=OLD)
    spec = (await stored(world))["spec"]
    assert (spec["priority"], spec["replicas"], spec["gpuProducts"]) == (7, 4, ["A", "B"])


async def test_an_old_client_that_changes_nothing_writes_nothing(world: Any) -> None:
    created = await world.create(world.job(replicas=4, gpuProducts=["A", "B"]))
    again = await world.update(await read_as(world, OLD), version=OLD)
    assert again.stored.revision == created.revision


async def test_what_the_conversion_carries_along_is_never_stored(world: Any) -> None:
    await world.create(world.job(replicas=4))
    seen = await read_as(world, OLD)
    assert seen["metadata"]["annotations"]
    seen["spec"]["priority"] = 1
    await world.update(seen, version=OLD)
    assert "annotations" not in (await stored(world))["metadata"]


async def test_owners_of_different_versions_meet_in_the_same_field(world: Any) -> None:
    await apply_as(world, OLD, "old", old_job(gpus=2))
    mine = world.job(gpuCount=4)
    with pytest.raises(APIError) as refused:
        await apply_as(world, NEW, "new", mine)
    assert refused.value.code == 409
    assert any("old" in cause.message for cause in refused.value.causes)
    after = await apply_as(world, NEW, "new", mine, force=True)
    assert after["spec"]["gpuCount"] == 4


async def test_an_apply_through_another_version_removes_what_its_manager_gave_up(world: Any) -> None:
    await apply_as(world, NEW, "me", world.job(model="s3://a", priority=5))
    after = await apply_as(world, OLD, "me", old_job(priority=5))
    assert "model" not in after["spec"]
    assert after["spec"]["priority"] == 5


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_lists_and_tables_and_watches_come_in_the_version_asked_for(world: Any, version: str) -> None:
    await world.create(world.job(gpuCount=2))
    resource = world.store.resource
    whole = Whole(resource, version)
    options = ListOptions()
    listing = await list_objects(world.store, select(resource, "", "", options), options)
    document = orjson.loads(whole.collection(map(whole.item, listing.views), listing.metadata))
    assert document["apiVersion"] == f"ai.example.com/{version}"
    assert {item["apiVersion"] for item in document["items"]} == {f"ai.example.com/{version}"}
    columns = resource.by_version[version].columns
    table = TableForm(whole, columns, "Object")
    rows = orjson.loads(table.collection(map(table.item, listing.views), listing.metadata))["rows"]
    assert rows[0]["object"]["apiVersion"] == f"ai.example.com/{version}"
    partial = PartialMetadata(whole)
    assert orjson.loads(partial.single(listing.views[0]))["kind"] == "PartialObjectMetadata"
    opened = await watch(
        world.store,
        select(resource, "", "", options),
        whole,
        ListOptions(watch=True, send_initial_events=True),
        lambda: 0.0,
    )
    async for frames in opened.frames():
        assert orjson.loads(frames)["object"]["apiVersion"] == f"ai.example.com/{version}"
        break


async def test_rules_of_the_storage_version_hold_for_what_comes_through_another(world: Any) -> None:
    smuggled = old_job()
    carried = base64.b64encode(orjson.dumps({"replicas": -5})).decode()
    smuggled["metadata"]["annotations"] = {"ai.example.com/v1-fields": carried}
    created = await world.create(smuggled, version=OLD)
    assert created.obj["spec"]["replicas"] == 1
