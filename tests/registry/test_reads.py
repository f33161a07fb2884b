"""Lists and watches: consistent, in pages, at revisions, with selectors."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver.machinery.errors import APIError
from apiserver.registry import continuation
from apiserver.registry.continuation import Continuation


def names(listing: Any) -> list[str]:
    return [view.name for view in listing.views]


async def frames_of(watch: Any, count: int) -> list[tuple[str, str]]:
    """The first `count` events as (type, name or annotation)."""
    found: list[tuple[str, str]] = []
    async for frames in watch.frames():
        for line in frames.splitlines():
            event = orjson.loads(line)
            metadata = event["object"].get("metadata", {})
            found.append((event["type"], metadata.get("name") or ",".join(metadata.get("annotations", ()))))
        if len(found) >= count:
            return found
    return found


async def test_a_list_comes_in_the_order_of_names(world: Any) -> None:
    for name in ("b", "c", "a"):
        await world.create(world.job(name))
    assert names(await world.list()) == ["a", "b", "c"]


async def test_pages_add_up_to_the_list_as_it_was_at_the_first_page(world: Any) -> None:
    for name in "abcde":
        await world.create(world.job(name))
    first = await world.list(limit=2)
    assert (names(first), first.remaining) == (["a", "b"], 3)
    await world.delete("d")
    await world.create(world.job("f"))
    second = await world.list(limit=2, continue_token=first.continue_token)
    third = await world.list(limit=2, continue_token=second.continue_token)
    assert names(second) + names(third) == ["c", "d", "e"]
    assert third.continue_token == ""
    assert {first.revision, second.revision, third.revision} == {first.revision}


async def test_a_page_whose_revision_is_gone_tells_how_to_go_on_inconsistently(world: Any) -> None:
    for name in "abc":
        await world.create(world.job(name))
    first = await world.list(limit=1)
    await world.create(world.job("d"))
    await world.store.storage.compact((await world.list()).revision)
    with pytest.raises(APIError) as refused:
        await world.list(limit=1, continue_token=first.continue_token)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    rest = await world.list(continue_token=refused.value.continue_token)
    assert names(rest) == ["b", "c", "d"]


async def test_a_list_at_an_exact_revision_shows_what_was_there(world: Any) -> None:
    then = await world.create(world.job("a"))
    await world.create(world.job("b"))
    listing = await world.list(resource_version=str(then.revision), resource_version_match="Exact")
    assert names(listing) == ["a"]
    assert listing.revision == then.revision


async def test_remaining_items_are_not_counted_under_a_selector(world: Any) -> None:
    for name in "abc":
        job = world.job(name)
        job["metadata"]["labels"] = {"x": "y"}
        await world.create(job)
    listing = await world.list(limit=1, label_selector="x=y")
    assert listing.continue_token
    assert listing.remaining is None


@pytest.mark.parametrize(
    "token", ["%%%", "e30", continuation.encode(Continuation(5, "../../other/secret"))[:-3] + "x"]
)
async def test_a_token_that_is_not_ours_is_refused(world: Any, token: str) -> None:
    with pytest.raises(APIError) as refused:
        await world.list(continue_token=token)
    assert refused.value.code == 400


async def test_a_token_cannot_lead_out_of_the_collection(world: Any) -> None:
    token = continuation.encode(Continuation(5, "../gpunodes/"))
    with pytest.raises(APIError) as refused:
        await world.list(continue_token=token)
    assert refused.value.code == 400


async def test_only_declared_fields_can_be_selected_by(world: Any) -> None:
    await world.create(world.job("a", priority=5))
    await world.create(world.job("b"))
    assert names(await world.list(field_selector="spec.priority=5")) == ["a"]
    with pytest.raises(APIError) as refused:
        await world.list(field_selector="spec.image=vllm")
    assert refused.value.code == 400


async def test_a_watch_from_a_revision_has_what_came_after_it(world: Any) -> None:
    first = await world.create(world.job("a"))
    await world.create(world.job("b"))
    await world.delete("a")
    watch = await world.watch(resource_version=str(first.revision))
    assert await frames_of(watch, 2) == [("ADDED", "b"), ("DELETED", "a")]


async def test_the_last_state_of_a_deleted_object_carries_the_revision_of_its_deletion(world: Any) -> None:
    first = await world.create(world.job("a"))
    await world.delete("a")
    watch = await world.watch(resource_version=str(first.revision))
    async for frames in watch.frames():
        event = orjson.loads(frames)
        assert int(event["object"]["metadata"]["resourceVersion"]) > first.revision
        break


async def test_an_object_that_a_selector_loses_is_deleted_for_its_watchers(world: Any) -> None:
    job = world.job("a")
    job["metadata"]["labels"] = {"team": "red"}
    created = await world.create(job)
    watch = await world.watch(resource_version=str(created.revision), label_selector="team=red")
    moved = created.decode()
    moved["metadata"]["labels"] = {"team": "blue"}
    back = (await world.update(moved)).stored.decode()
    back["metadata"]["labels"] = {"team": "red"}
    await world.update(back)
    assert await frames_of(watch, 2) == [("DELETED", "a"), ("ADDED", "a")]


async def test_initial_events_end_with_an_annotated_bookmark(world: Any) -> None:
    await world.create(world.job("a"))
    watch = await world.watch(
        send_initial_events=True, resource_version_match="NotOlderThan", allow_watch_bookmarks=True
    )
    assert await frames_of(watch, 2) == [("ADDED", "a"), ("BOOKMARK", "k8s.io/initial-events-end")]


async def test_a_watch_ends_at_its_deadline(world: Any) -> None:
    created = await world.create(world.job("a"))
    watch = await world.watch(resource_version=str(created.revision), timeout_seconds=10)
    world.now = 11.0
    assert [frames async for frames in watch.frames()] == []


async def test_watchers_of_one_change_share_its_encoding(world: Any) -> None:
    created = await world.create(world.job("a"))
    watches = [await world.watch(resource_version=str(created.revision)) for _ in range(2)]
    await world.create(world.job("b"))
    seen = []
    for watch in watches:
        async for frames in watch.frames():
            seen.append(frames)
            break
    assert seen[0] == seen[1]


async def test_a_revision_that_is_not_reached_is_waited_for_and_then_refused(world: Any) -> None:
    with pytest.raises(APIError) as refused:
        await world.list(resource_version="999999")
    assert refused.value.code == 504
    assert refused.value.causes[0].reason == "ResourceVersionTooLarge"
