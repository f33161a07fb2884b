"""Several objects in one transaction: all or none, whoever else writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from apiserver.machinery.errors import APIError


@dataclass(frozen=True)
class Change:
    resource: str
    obj: dict[str, Any]
    kind: str


def node(name: str, *, free: int = 8) -> dict[str, Any]:
    return {
        "apiVersion": "ai.example.com/v1",
        "kind": "GPUNode",
        "metadata": {"name": name},
        "status": {"resource": "nvidia.com/gpu", "capacity": 8, "allocatable": 8, "free": free},
    }


async def test_all_changes_of_a_transaction_share_one_revision(world: Any) -> None:
    job = (await world.create(world.job())).obj
    changes = [
        Change("inferencejobs", {**job, "status": {"phase": "Reconciling"}}, "update_status"),
        Change("gpunodes", node("gpu-0"), "create"),
    ]
    written = await world.objects.transact(changes)
    assert written[0]["metadata"]["resourceVersion"] == written[1]["metadata"]["resourceVersion"]
    assert written[1]["status"]["free"] == 8


async def test_a_transaction_with_one_stale_object_writes_nothing(world: Any) -> None:
    job = (await world.create(world.job())).obj
    [ledger] = await world.objects.transact([Change("gpunodes", node("gpu-0"), "create")])
    await world.objects.update_status("gpunodes", {**ledger, "status": {**ledger["status"], "free": 6}})
    changes = [
        Change("inferencejobs", {**job, "status": {"phase": "Reconciling"}}, "update_status"),
        Change("gpunodes", {**ledger, "status": {**ledger["status"], "free": 4}}, "update_status"),
    ]
    with pytest.raises(APIError) as refused:
        await world.objects.transact(changes)
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert (await world.objects.get("inferencejobs", "ml", "llama"))["status"]["phase"] == "Pending"
    assert (await world.objects.get("gpunodes", "", "gpu-0"))["status"]["free"] == 6


async def test_an_unchanged_object_is_compared_all_the_same(world: Any) -> None:
    [ledger] = await world.objects.transact([Change("gpunodes", node("gpu-0"), "create")])
    stale = dict(ledger)
    await world.objects.update_status("gpunodes", {**ledger, "status": {**ledger["status"], "free": 6}})
    with pytest.raises(APIError):
        await world.objects.transact([Change("gpunodes", stale, "update_status")])
