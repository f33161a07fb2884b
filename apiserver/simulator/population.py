"""Brings the simulated cluster to what was asked for:
namespaces, and nodes as many and as large as the fleet.

A second start finds what the first one left: nodes that people made are kept, and so is what they changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from datetime import UTC, datetime
from typing import Any

from apiserver.simulator.fleet import GPU, Fleet
from apiserver.simulator.follow import follow, unless
from apiserver.simulator.objects import Objects

Object = dict[str, Any]

NAMESPACES = ("default", "kube-system", "ai-system")
TRIES = 5
_OURS = re.compile(r"gpu-\d+")


async def populate(objects: Objects, fleet: Fleet, now: str | None = None) -> None:
    """Make the namespaces and nodes that are not there, resize those that are, and remove what is beyond the
    fleet. `now` is RFC 3339."""
    for name in NAMESPACES:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        with unless(403, 409):
            await objects.create("namespaces", namespace)
    manifests = fleet.manifests(now or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    wanted = {node["metadata"]["name"]: node for node in manifests}
    present = {node["metadata"]["name"]: node for node in (await objects.list("nodes"))[0]}
    for name, node in present.items():
        if name not in wanted and _OURS.fullmatch(name):
            with unless(404, 409):
                await objects.delete("nodes", node)
    for name, node in wanted.items():
        if name not in present:
            with unless(409):
                present[name] = await objects.create("nodes", node)
        await _resize(objects, node)


async def _resize(objects: Objects, wanted: Object) -> None:
    name, labels, status = wanted["metadata"]["name"], wanted["metadata"]["labels"], wanted["status"]
    for _ in range(TRIES):
        with unless(409):
            live = await objects.get("nodes", "", name)
            meta = live["metadata"]
            if any((meta.get("labels") or {}).get(key) != value for key, value in labels.items()):
                relabelled = {**meta, "labels": {**(meta.get("labels") or {}), **labels}}
                live = await objects.update("nodes", {**live, "metadata": relabelled})
            if (live.get("status") or {}).get("capacity") != status["capacity"]:
                await objects.update_status("nodes", {**live, "status": status})
            return


async def await_ledger(objects: Objects, fleet: Fleet, seconds: float) -> None:
    """Wait until the ledger knows every node that has GPUs, but no longer than `seconds`: a job that comes
    before that is told that there are none."""
    missing = {f"gpu-{index}" for index in range(fleet.nodes)} if fleet.gpus_per_node else set()
    if not missing:
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for kind, node in follow(objects, "gpunodes"):
                status = node.get("status") or {}
                if kind != "DELETED" and (status.get("capacity"), status.get("resource")) == (
                    fleet.gpus_per_node,
                    GPU,
                ):
                    missing.discard(node["metadata"]["name"])
                if not missing:
                    return
