"""Gangs over more nodes than storage can change in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakecluster import Lab

from apiserver.controllers.clients import Change
from apiserver.machinery import errors

MOST = 128


def limit(lab: Lab) -> list[int]:
    """Have the store take no more operations than etcd does; gives the sizes of what was refused."""
    whole, refused = lab.objects.transact, []

    async def transact(changes: Sequence[Change]) -> list[dict[str, Any]]:
        if len(changes) > MOST:
            refused.append(len(changes))
            raise errors.too_large("the object is larger than storage accepts")
        return await whole(changes)

    lab.objects.transact = transact  # type: ignore[method-assign]
    return refused


async def test_a_gang_that_fits_into_no_transaction_says_so_and_is_not_tried_for_ever() -> None:
    lab = Lab()
    refused = limit(lab)
    for number in range(MOST + 2):
        lab.node(f"gpu-{number}", 1)
    async with lab.running():
        lab.submit("wide", replicas=MOST)
        await lab.settle(60)
        assert refused == [MOST + 1]
        scheduled = lab.condition("wide", "Scheduled")
        assert (scheduled["status"], scheduled["reason"]) == ("False", "GangTooLarge")
        assert "128 nodes" in scheduled["message"]
        assert "--etcd-max-txn-ops" in scheduled["message"]
        assert lab.status("wide")["phase"] == "Pending"
        lab.submit("small", replicas=3)
        await lab.run_kubelets()
        assert lab.status("small")["phase"] == "Ready", "it holds nobody up"
        assert len(refused) == 1
        assert [reason for reason in lab.events() if reason == "GangTooLarge"] == ["GangTooLarge"]
        await lab.change("wide", replicas=MOST - 1)
        await lab.run_kubelets()
        assert lab.status("wide")["phase"] == "Ready", "another spec is tried at once"
        assert len(refused) == 1


async def test_replicas_on_more_nodes_than_that_may_end_and_leave_together() -> None:
    lab = Lab()
    for number in range(MOST + 2):
        lab.node(f"gpu-{number}", 1)
    async with lab.running():
        lab.submit("wide", replicas=MOST + 2, restartPolicy="Never")
        await lab.run_kubelets()
        lab.submit("other", replicas=2)
        refused = limit(lab)
        for number in range(MOST + 1):
            lab.set_pod(f"wide-{number}", "Succeeded")
        await lab.run_kubelets()
        assert [item["gpus"] for item in lab.status("wide")["placements"]] == [0] * (MOST + 1) + [1]
        assert lab.status("other")["phase"] == "Ready"
        lab.set_pod(f"wide-{MOST + 1}", "Succeeded")
        await lab.settle()
        assert lab.status("wide")["phase"] == "Succeeded"
        assert refused == []
