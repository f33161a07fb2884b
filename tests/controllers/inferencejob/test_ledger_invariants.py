"""What must hold at every revision, whatever happens and however many believe that they lead."""

from __future__ import annotations

import random
from typing import Any

import pytest
from fakecluster import Lab

from apiserver.controllers.placement.facts import is_terminal

GPU = "nvidia.com/gpu"


def overbooked(lab: Lab) -> list[str]:
    """Every revision of every ledger entry in which allocations are more than the capacity."""
    found = []
    for revision, resource, kind, obj in lab.own.history:
        if resource != "gpunodes" or kind == "DELETED":
            continue
        status = obj["status"]
        held = sum(item["count"] for item in status.get("allocations") or ())
        keys = [(item["uid"], item["replica"]) for item in status.get("allocations") or ()]
        if held > status["capacity"] or len(keys) != len(set(keys)):
            found.append(f"revision {revision}: {obj['metadata']['name']} {status}")
    return found


def half_placed(lab: Lab) -> list[str]:
    """Revisions in which a gang became placed in part: from nothing to less than all."""
    found = []
    before: dict[str, int] = {}
    for revision, resource, kind, obj in lab.own.history:
        if resource != "inferencejobs" or kind == "DELETED":
            continue
        placed = len((obj.get("status") or {}).get("placements") or ())
        uid = obj["metadata"]["uid"]
        if before.get(uid, 0) == 0 and 0 < placed < obj["spec"]["replicas"]:
            found.append(f"revision {revision}: {obj['metadata']['name']} has {placed} placements")
        before[uid] = placed
    return found


def running_gpus(lab: Lab) -> dict[str, int]:
    """GPUs of pods that are bound and have not ended, by node."""
    used: dict[str, int] = {}
    for pod in lab.cluster.list("pods"):
        node = pod["spec"].get("nodeName")
        if node and not is_terminal(pod):
            count = int(pod["spec"]["containers"][0]["resources"]["limits"].get(GPU, 0))
            used[node] = used.get(node, 0) + count
    return used


async def disturb(lab: Lab, dice: random.Random, number: int) -> None:
    """One thing that happens in a cluster."""
    jobs = [obj["metadata"]["name"] for obj in lab.own.list("inferencejobs")]
    pods = list(lab.pods())
    nodes = [obj["metadata"]["name"] for obj in lab.cluster.list("nodes")]
    what = dice.randrange(10)
    if what <= 3 or not jobs:
        spec: dict[str, Any] = {
            "gpuCount": dice.choice([1, 2, 4, 8]),
            "replicas": dice.choice([1, 1, 2, 3]),
            "priority": dice.choice([0, 0, 5]),
            "restartPolicy": dice.choice(["Never", "OnFailure", "Always"]),
        }
        lab.submit(f"job-{number}", **spec)
    elif what == 4:
        await lab.delete(dice.choice(jobs))
    elif what == 5:
        await lab.change(dice.choice(jobs), suspend=dice.random() < 0.5)
    elif what == 6 and pods:
        lab.set_pod(dice.choice(pods), dice.choice(["Succeeded", "Failed"]))
    elif what == 7 and pods:
        lab.cluster.remove(("pods", "ml", dice.choice(pods)))
    elif what == 8 and pods:
        lab.set_pod(dice.choice(pods), "Failed", reason="UnexpectedAdmissionError")
    elif nodes:
        name = dice.choice(nodes)
        lab.set_node(name, ready=dice.random() < 0.7)


@pytest.mark.parametrize("seed", range(6))
async def test_two_controllers_that_both_lead_never_book_more_than_there_is(seed: int) -> None:
    dice = random.Random(seed)
    lab = Lab()
    for number in range(4):
        lab.node(f"gpu-{number}", zone="ab"[number % 2])
    async with lab.running(lab.make("two")):
        for number in range(40):
            await disturb(lab, dice, number)
            await lab.clock.advance(dice.choice([0.0, 0.3, 3.0]))
            lab.kubelets()
            assert all(used <= 8 for used in running_gpus(lab).values()), "pods bound beyond the node"
        assert overbooked(lab) == []
        assert half_placed(lab) == []


@pytest.mark.parametrize("seed", range(4))
async def test_after_the_storm_everything_is_given_back(seed: int) -> None:
    dice = random.Random(100 + seed)
    lab = Lab()
    for number in range(3):
        lab.node(f"gpu-{number}")
    async with lab.running():
        for number in range(30):
            await disturb(lab, dice, number)
            await lab.clock.advance(dice.choice([0.0, 1.0]))
            lab.kubelets()
        for node in ("gpu-0", "gpu-1", "gpu-2"):
            lab.set_node(node, ready=True)
        for job in lab.own.list("inferencejobs"):
            if not job["metadata"].get("deletionTimestamp"):
                await lab.delete(job["metadata"]["name"])
        for _ in range(3):
            await lab.run_kubelets(120)
        assert lab.own.list("inferencejobs") == []
        assert [pod for pod in lab.cluster.list("pods") if not is_terminal(pod)] == []
        assert [lab.gpu_node(f"gpu-{number}")["free"] for number in range(3)] == [8, 8, 8]


async def test_writes_that_meet_others_are_decided_anew() -> None:
    lab = Lab()
    lab.node("gpu-1")
    meddled: list[str] = []

    def meddle(kind: str, resource: str, name: str) -> None:
        """Somebody touches the ledger just before each of the first writes to it."""
        if resource == "gpunodes" and kind == "update" and len(meddled) < 5:
            meddled.append(name)
            key = ("gpunodes", "", name)
            entry = lab.own.get(key)
            entry["metadata"]["labels"] = {"n": str(len(meddled))}
            lab.own.put(key, entry)

    lab.objects.before = meddle
    async with lab.running():
        lab.submit("job")
        await lab.run_kubelets(20)
        await lab.run_kubelets(20)
        assert len(meddled) == 5
        assert lab.status("job")["phase"] == "Ready"
