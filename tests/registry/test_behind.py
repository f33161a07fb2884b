"""Updates whose cache shows less than storage holds: no answer is given that was never true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.machinery.errors import APIError
from apiserver.machinery.options import WriteOptions
from apiserver.registry.store import ResourceStore, Stored

Show = Callable[[Stored | None], None]


@pytest.fixture
def show(world: Any, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Has the first look into the cache show an earlier state; the next one shows what is there."""

    def earlier(state: Stored | None) -> None:
        states = [state]
        real = ResourceStore.cached

        def cached(self: ResourceStore, key: bytes) -> Stored | None:
            return states.pop() if states else real(self, key)

        monkeypatch.setattr(ResourceStore, "cached", cached)

    return earlier


async def changed(world: Any, obj: dict[str, Any], **spec: Any) -> Stored:
    """The object with another spec, as stored."""
    stored: Stored = (await world.update({**obj, "spec": {**obj["spec"], **spec}})).stored
    return stored


async def test_what_the_cache_does_not_show_yet_can_be_updated(world: Any, show: Show) -> None:
    created = await world.create(world.job())
    show(None)
    assert (await changed(world, created.obj, priority=5)).obj["spec"]["priority"] == 5


async def test_an_update_of_the_newest_revision_is_no_conflict_with_an_older_one(
    world: Any, show: Show
) -> None:
    old = await world.create(world.job())
    new = await changed(world, old.obj, priority=5)
    show(old)
    assert (await changed(world, new.obj, priority=6)).obj["spec"]["priority"] == 6


async def test_a_change_back_to_what_the_cache_shows_is_a_change(world: Any, show: Show) -> None:
    old = await world.create(world.job(priority=5))
    await changed(world, old.obj, priority=6)
    show(old)
    wanted = world.job(priority=5)
    stored = (await world.update(wanted, unconditional=True)).stored
    assert stored.obj["spec"]["priority"] == 5
    assert (await world.objects.get("inferencejobs", "ml", "llama"))["spec"]["priority"] == 5


async def test_a_dry_run_answers_with_what_storage_holds(world: Any, show: Show) -> None:
    old = await world.create(world.job(priority=5))
    new = await changed(world, old.obj, priority=6)
    show(old)
    dry = WriteOptions(dry_run=True)
    stored = (await world.update(world.job(priority=5), unconditional=True, options=dry)).stored
    assert stored.obj["metadata"]["generation"] == new.obj["metadata"]["generation"] + 1


async def test_what_is_deleted_is_not_found_although_the_cache_still_shows_it(world: Any, show: Show) -> None:
    old = await world.create(world.job())
    await world.delete()
    show(old)
    with pytest.raises(APIError) as refused:
        await changed(world, old.obj, priority=5)
    assert refused.value.code == 404


async def test_an_update_that_is_refused_by_what_storage_holds_stays_refused(world: Any, show: Show) -> None:
    old = await world.create(world.job())
    await changed(world, old.obj, priority=5)
    show(old)
    with pytest.raises(APIError) as refused:
        await changed(world, old.obj, priority=6)
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
