"""Jobs created to bound by our controllers, against pods created to bound by kube-scheduler.

Both on one kube-apiserver and one set of nodes without machines, one after the other in each round. A job is
one replica of two GPUs, and so is a pod.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cluster import binaries, nodes
from cluster.controlplane import LOCAL, ControlPlane
from cluster.process import Process, free_port
from cluster.rest import Rest

from benchmarks.load import requests
from benchmarks.peers import OURS, Peer, cpu_seconds, our_server
from benchmarks.report import Line

SCHEDULER = "kube-scheduler"
NODES, COUNT = 250, 500
GPUS_PER_NODE, GPUS = 8, 2
KNOWN_SECONDS = 60
BOUND_SECONDS = 180
LEASE_NAMESPACE = "ai-system"


def bind(folder: Path, rounds: int) -> list[Line]:
    """Created to bound, a second."""
    programs = binaries.find()
    if programs is None:
        sys.exit(binaries.MISSING)
    with ExitStack() as stack:
        plane = ControlPlane(programs, folder / "plane")
        stack.callback(plane.stop)
        plane.start(controllers=False)
        plane.rest.create("/api/v1/namespaces", {"metadata": {"name": LEASE_NAMESPACE}})
        with ThreadPoolExecutor(8) as pool:
            make: Callable[[int], None] = lambda n: nodes.create_gpu_node(  # noqa: E731
                plane.rest, f"node-{n:05d}", gpus=GPUS_PER_NODE
            )
            list(pool.map(make, range(NODES)))
        ours = our_server(plane, folder, "/bench-bind", "*")
        scheduler = _scheduler(plane, programs / SCHEDULER, folder)
        for process in (ours.process, scheduler):
            stack.callback(process.kill)
            process.start()
        ours.process.wait_until(ours.ready, 60)
        ours.process.wait_until(lambda: _nodes_known(ours), KNOWN_SECONDS, "aware of the nodes")
        pods = _pods(plane)
        found: dict[str, list[float]] = {OURS: [], SCHEDULER: []}
        spent: dict[str, list[float]] = {OURS: [], SCHEDULER: []}
        processes = {OURS: ours.process, SCHEDULER: scheduler}
        for number in range(rounds):
            for peer in (ours, pods):
                before = cpu_seconds(processes[peer.name])
                rate = _round(plane, peer, f"bind-{peer.name}-{number}")
                each = 1000 * (cpu_seconds(processes[peer.name]) - before) / COUNT
                found[peer.name].append(rate)
                spent[peer.name].append(each)
                text = f"bind, round {number + 1}, {peer.name}: {rate:.0f}/s, {each:.2f} ms CPU each"
                print(text, file=sys.stderr, flush=True)
    title = f"created to bound, {NODES:,} nodes, {COUNT:,} times {GPUS} GPUs"
    return [
        Line(title, "1/s", found, SCHEDULER, 1),
        Line("  CPU of the process, each, deletion included", "ms", spent, less_is_better=True),
    ]


def _round(plane: ControlPlane, peer: Peer, namespace: str) -> float:
    plane.rest.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    began = time.monotonic()
    requests(peer, "POST", peer.path(namespace), count=COUNT, connections=16, create=True, prefix="b-")
    while (bound := _bound(plane.rest, namespace)) < COUNT:
        if time.monotonic() - began > BOUND_SECONDS:
            raise AssertionError(f"{peer.name}: {bound} of {COUNT} bound\n{peer.process.tail(20)}")
        time.sleep(0.1)
    rate = COUNT / (time.monotonic() - began)
    _clear(plane, peer, namespace)
    return rate


def _bound(rest: Rest, namespace: str) -> int:
    # The server counts: reading the pods would cost more than binding them.
    path = f"/api/v1/namespaces/{namespace}/pods?fieldSelector=spec.nodeName!="
    answer = rest.request("GET", f"{path}&limit=10000", headers={"Accept": _NAMES_ONLY})
    return len(json.loads(answer.body)["items"] or [])


_NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def _clear(plane: ControlPlane, peer: Peer, namespace: str) -> None:
    """Give the GPUs back: there is no kubelet and no garbage collector, so pods are deleted for good here."""
    peer.rest.delete(peer.path(namespace))
    now: dict[str, Any] = {"gracePeriodSeconds": 0}
    deadline = time.monotonic() + BOUND_SECONDS
    while _bound(plane.rest, namespace) or peer.rest.get(f"{peer.path(namespace)}?limit=1")["items"]:
        plane.rest.delete(f"/api/v1/namespaces/{namespace}/pods", now)
        assert time.monotonic() < deadline, f"{peer.name}: objects stay\n{peer.process.tail(20)}"
        time.sleep(0.3)


def _nodes_known(ours: Peer) -> bool:
    answer = ours.rest.request("GET", "/apis/ai.example.com/v1/gpunodes")
    return answer.status == 200 and len(answer.json["items"]) == NODES


def _pods(plane: ControlPlane) -> Peer:
    resources = {"nvidia.com/gpu": str(GPUS), "cpu": "1", "memory": "1Gi"}
    container = {
        "name": "main",
        "image": "registry.example.com/vllm:0.9",
        "resources": {"requests": resources, "limits": resources},
    }
    body = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}}
    return _PodPeer(SCHEDULER, plane.kube_apiserver, plane.port, plane.keys.server_ca, "v1", "pods", body)


class _PodPeer(Peer):
    """Pods are in the group without a name."""

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of pods."""
        return super().path(namespace, name).replace("/apis/", "/api/", 1)


def _scheduler(plane: ControlPlane, program: Path, folder: Path) -> Process:
    """kube-scheduler, allowed to ask as often as it likes."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(plane.kubeconfig), "qps": 5000, "burst": 5000},
    }
    path = folder / "scheduler.json"
    path.write_text(json.dumps(config))
    flags = [f"--config={path}", f"--bind-address={LOCAL}", f"--secure-port={free_port()}"]
    flags += [
        f"--authentication-kubeconfig={plane.kubeconfig}",
        f"--authorization-kubeconfig={plane.kubeconfig}",
    ]
    return Process(SCHEDULER, [str(program), *flags], folder / "scheduler.log")
