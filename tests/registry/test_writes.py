"""Creating, changing and deleting objects through the generic store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.machinery import errors
from apiserver.machinery.errors import APIError
from apiserver.machinery.options import Preconditions, WriteOptions
from apiserver.registry.hooks import Attributes


async def test_a_new_object_gets_its_identity_from_the_server(world: Any) -> None:
    job = world.job()
    job["metadata"] |= {"uid": "mine", "generation": 9, "creationTimestamp": "2001-01-01T00:00:00Z"}
    created = (await world.create(job)).obj["metadata"]
    assert created["uid"] != "mine"
    assert created["generation"] == 1
    assert created["creationTimestamp"] > "2020"
    assert created["resourceVersion"] == str((await world.list()).revision)


async def test_the_same_name_cannot_be_created_twice(world: Any) -> None:
    await world.create(world.job())
    with pytest.raises(APIError) as refused:
        await world.create(world.job())
    assert (refused.value.code, refused.value.reason) == (409, "AlreadyExists")


async def test_a_generated_name_has_the_given_base(world: Any) -> None:
    job = world.job()
    job["metadata"] = {"generateName": "batch-", "namespace": "ml"}
    name = (await world.create(job)).obj["metadata"]["name"]
    assert name.startswith("batch-")
    assert len(name) == len("batch-") + 5


async def test_a_dry_run_answers_like_a_creation_and_stores_nothing(world: Any) -> None:
    created = await world.create(world.job(), options=WriteOptions(dry_run=True))
    assert created.obj["metadata"]["uid"]
    assert (await world.list()).views == ()


async def test_a_change_of_the_spec_counts_a_generation_and_one_of_labels_does_not(world: Any) -> None:
    created = (await world.create(world.job())).obj
    created["metadata"]["labels"] = {"team": "a"}
    labelled = (await world.update(created)).stored.obj
    assert labelled["metadata"]["generation"] == 1
    labelled["spec"]["priority"] = 5
    assert (await world.update(labelled)).stored.obj["metadata"]["generation"] == 2


async def test_the_main_resource_never_changes_the_status(world: Any) -> None:
    created = (await world.create(world.job())).obj
    created["status"] = {"phase": "Ready"}
    created["spec"]["priority"] = 1
    assert (await world.update(created)).stored.obj["status"]["phase"] == "Pending"


async def test_the_status_subresource_changes_nothing_but_the_status(world: Any) -> None:
    created = (await world.create(world.job())).obj
    created["status"] = {"phase": "Ready"}
    created["spec"]["priority"] = 7
    created["metadata"]["labels"] = {"team": "a"}
    updated = (await world.update(created, subresource="status")).stored.obj
    assert updated["status"]["phase"] == "Ready"
    assert updated["spec"]["priority"] == 0
    assert "labels" not in updated["metadata"]
    assert updated["metadata"]["generation"] == 1


async def test_an_update_that_changes_nothing_keeps_the_revision(world: Any) -> None:
    created = await world.create(world.job())
    again = await world.update(created.obj)
    assert again.stored.revision == created.revision


async def test_an_update_from_an_old_revision_is_a_conflict(world: Any) -> None:
    created = (await world.create(world.job())).obj
    await world.update({**created, "spec": {**created["spec"], "priority": 1}})
    with pytest.raises(APIError) as refused:
        await world.update({**created, "spec": {**created["spec"], "priority": 2}})
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")


async def test_an_update_without_a_revision_is_refused_as_for_a_custom_resource(world: Any) -> None:
    created = (await world.create(world.job())).obj
    del created["metadata"]["resourceVersion"]
    with pytest.raises(APIError) as refused:
        await world.update(created)
    assert refused.value.code == 422
    assert "metadata.resourceVersion" in refused.value.message


async def test_many_writers_without_a_revision_all_get_their_turn(world: Any) -> None:
    await world.create(world.job())

    async def add(number: int) -> None:
        job = world.job()
        job["metadata"]["labels"] = {f"l{number}": "x"}
        await world.update(job, unconditional=True)

    await asyncio.gather(*(add(number) for number in range(10)))
    listed = await world.list()
    assert listed.revision >= 11


async def test_admission_can_refuse_before_anything_is_stored(world: Any) -> None:
    def refuse(attributes: Attributes) -> None:
        raise errors.forbidden(attributes.resource.group_resource, attributes.name, "not today")

    world.admission.on_admit = refuse
    with pytest.raises(APIError) as refused:
        await world.create(world.job())
    assert refused.value.code == 403
    assert (await world.list()).views == ()


async def test_an_object_without_finalizers_goes_at_once(world: Any) -> None:
    created = await world.create(world.job())
    deleted = await world.delete()
    assert deleted.gone
    assert deleted.stored.obj["metadata"]["uid"] == created.obj["metadata"]["uid"]
    assert (await world.list()).views == ()


async def test_an_object_with_finalizers_waits_and_goes_with_the_last_of_them(world: Any) -> None:
    job = world.job()
    job["metadata"]["finalizers"] = ["example.com/a"]
    await world.create(job)
    deleted = await world.delete()
    assert not deleted.gone
    waiting = deleted.stored.obj
    assert waiting["metadata"]["deletionTimestamp"]
    assert waiting["metadata"]["generation"] == 2
    waiting["metadata"]["finalizers"] = []
    await world.update(waiting)
    assert (await world.list()).views == ()


async def test_no_finalizer_can_be_added_to_what_is_being_deleted(world: Any) -> None:
    job = world.job()
    job["metadata"]["finalizers"] = ["example.com/a"]
    await world.create(job)
    waiting = (await world.delete()).stored.obj
    waiting["metadata"]["finalizers"] = ["example.com/a", "example.com/b"]
    with pytest.raises(APIError) as refused:
        await world.update(waiting)
    assert refused.value.code == 422


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
async def test_a_deletion_policy_leaves_its_finalizer_for_the_garbage_collector(
    world: Any, policy: str, finalizer: str
) -> None:
    await world.create(world.job())
    deleted = await world.delete(propagation_policy=policy)
    assert deleted.stored.obj["metadata"]["finalizers"] == [finalizer]


@pytest.mark.parametrize("wrong", [Preconditions(uid="other"), Preconditions(resource_version="1")])
async def test_a_deletion_whose_preconditions_do_not_hold_is_a_conflict(
    world: Any, wrong: Preconditions
) -> None:
    await world.create(world.job("first"))
    await world.create(world.job())
    with pytest.raises(APIError) as refused:
        await world.delete(preconditions=wrong)
    assert refused.value.code == 409


async def test_deleting_what_waits_already_changes_nothing(world: Any) -> None:
    job = world.job()
    job["metadata"]["finalizers"] = ["example.com/a"]
    await world.create(job)
    first = await world.delete()
    second = await world.delete()
    assert second.stored.revision == first.stored.revision


async def test_an_invalid_object_is_refused_with_the_path_of_each_fault(world: Any) -> None:
    with pytest.raises(APIError) as refused:
        await world.create(world.job(gpuCount=0, replicas=-1))
    assert refused.value.code == 422
    assert {cause.field for cause in refused.value.causes} >= {"spec.gpuCount", "spec.replicas"}


async def test_another_version_is_stored_in_the_storage_version(world: Any) -> None:
    job = world.job()
    job["apiVersion"] = "ai.example.com/v1alpha1"
    job["spec"] = {"image": "vllm", "gpus": 4, "gpuType": "H100"}
    await world.create(job, version="v1alpha1")
    stored = (await world.list()).views[0].decode()
    assert stored["apiVersion"] == "ai.example.com/v1"
    assert stored["spec"]["gpuCount"] == 4
    assert stored["spec"]["gpuProducts"] == ["H100"]
