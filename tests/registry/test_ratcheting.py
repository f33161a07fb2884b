"""A rule that got stricter is no trap: what was stored before it can still be changed elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apiserver.apis.ai.resources import INFERENCE_JOBS
from apiserver.machinery.errors import APIError
from apiserver.machinery.field import FieldError, Path, invalid
from apiserver.machinery.patch import copy_json
from apiserver.machinery.strategy import Strategy
from apiserver.registry.checks import check_create, check_update

Object = dict[str, Any]
LEAST = 10


class Stricter(Strategy):
    """Priorities below ten are no longer welcome."""

    def validate(self, obj: Object) -> list[FieldError]:
        """The new rule."""
        priority = obj["spec"]["priority"]
        path = Path("spec").child("priority")
        return [invalid(path, priority, f"must be at least {LEAST}")] if priority < LEAST else []


RESOURCE = replace(INFERENCE_JOBS, strategy=Stricter())


@pytest.fixture
async def old(world: Any) -> Object:
    stored: Object = (await world.create(world.job(priority=1))).obj
    return stored


def update(old: Object, **spec: Any) -> None:
    obj = copy_json(old)
    obj["spec"] |= spec
    check_update(RESOURCE, "v1", obj, old, obj, old)


async def test_a_new_object_must_keep_the_rule(old: Object) -> None:
    with pytest.raises(APIError, match="must be at least 10"):
        check_create(RESOURCE, "v1", old, old)


async def test_an_old_object_can_be_changed_elsewhere(old: Object) -> None:
    update(old, suspend=True)


async def test_a_field_that_is_touched_must_keep_the_rule(old: Object) -> None:
    with pytest.raises(APIError, match="Invalid value: 2: must be at least 10"):
        update(old, priority=2)


async def test_an_old_object_can_be_put_right(old: Object) -> None:
    update(old, priority=LEAST)
