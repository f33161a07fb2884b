"""Puts the controllers of this group together: informers, handlers, queues and loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apiserver.controllers.clients import Host, Object
from apiserver.controllers.clock import Clock
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.backoff import NodeBackoff
from apiserver.controllers.inferencejob.cluster import Cluster
from apiserver.controllers.inferencejob.controller import InferenceJobController, entry_handler
from apiserver.controllers.inferencejob.gpunode import GPUNodeController
from apiserver.controllers.inferencejob.ledger import INDEXERS
from apiserver.controllers.inferencejob.scheduler import Scheduler
from apiserver.controllers.inferencejob.trim import trim_node, trim_pod
from apiserver.controllers.inferencejob.world import World, pod_indexers
from apiserver.controllers.informer import Informer
from apiserver.controllers.listwatch import HostListWatch, ObjectsListWatch
from apiserver.controllers.reconciler import Runner
from apiserver.controllers.registry import Controller, Shared
from apiserver.controllers.store import Indexer
from apiserver.controllers.workqueue import WorkQueue

JOB_WORKERS = 16
NODE_WORKERS = 4
REFUSED_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class _Parts:
    world: World
    job_queue: WorkQueue
    node_queue: WorkQueue


def inferencejob(shared: Shared) -> Controller:
    """Places jobs and looks after their pods."""
    parts = _parts(shared)
    world, queue = parts.world, parts.job_queue
    controller = InferenceJobController(world, queue)
    world.jobs.add_handler(controller.on_job)
    world.pods.add_handler(controller.on_pod)
    world.nodes.add_handler(controller.on_node)
    shared.informers[names.GPU_NODES].add_handler(controller.on_entry)

    def wake(node: str) -> None:
        if world.cluster.ledger.on_node(node):
            world.scheduler.wake()

    def permissions() -> str:
        now = world.clock.monotonic()
        recent = [text for text, at in world.refused.items() if now - at < REFUSED_SECONDS]
        return recent[-1] if recent else ""

    world.cluster.changed.append(wake)
    return Controller(
        runners=[Runner(names.JOBS, controller.reconcile, queue, shared.clock, workers=JOB_WORKERS)],
        loops=[world.scheduler.run],
        checks={"permissions": permissions},
    )


def gpunode(shared: Shared) -> Controller:
    """Keeps the ledger in step with the nodes."""
    parts = _parts(shared)
    controller = GPUNodeController(parts.world, parts.job_queue.add)
    parts.world.cluster.changed.append(parts.node_queue.add)
    shared.informers[names.GPU_NODES].add_handler(entry_handler(parts.node_queue.add))
    runner = Runner(
        names.GPU_NODES, controller.reconcile, parts.node_queue, shared.clock, workers=NODE_WORKERS
    )
    return Controller(runners=[runner])


def _parts(shared: Shared) -> _Parts:
    """What both controllers stand on, made once. The cluster's handlers come first: who is told after it
    finds the picture up to date."""
    known = shared.parts.get(names.GROUP)
    if isinstance(known, _Parts):
        return known
    clock, host = shared.clock, shared.host
    jobs = shared.informer(names.JOBS, lambda: Informer(ObjectsListWatch(shared.objects, names.JOBS), clock))
    entries = shared.informer(
        names.GPU_NODES,
        lambda: Informer(ObjectsListWatch(shared.objects, names.GPU_NODES), clock, indexers=INDEXERS),
    )
    nodes = shared.informer("nodes", lambda: _cut_down(host, "nodes", trim_node, clock, {}))
    pods = shared.informer("pods", lambda: _cut_down(host, "pods", trim_pod, clock, pod_indexers()))
    job_queue = WorkQueue(names.JOBS, clock)
    backoff = NodeBackoff(clock)
    cluster = Cluster(jobs, nodes, pods, entries)
    scheduler = Scheduler(shared.objects, jobs, cluster, clock, shared.events, backoff, job_queue.add_after)
    world = World(
        objects=shared.objects,
        host=host,
        jobs=jobs,
        nodes=nodes,
        pods=pods,
        cluster=cluster,
        scheduler=scheduler,
        backoff=backoff,
        events=shared.events,
        clock=clock,
    )
    parts = _Parts(world, job_queue, WorkQueue(names.GPU_NODES, clock))
    shared.parts[names.GROUP] = parts
    return parts


def _cut_down(
    host: Host, resource: str, trim: Callable[[Object], Object], clock: Clock, indexers: Mapping[str, Indexer]
) -> Informer:
    """An informer of a core/v1 resource that cuts objects down, also while they stream in."""
    source = HostListWatch(host, f"/api/v1/{resource}", transform=trim)
    return Informer(source, clock, transform=trim, indexers=indexers)
