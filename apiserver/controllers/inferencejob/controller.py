"""The controller of InferenceJobs: which events wake which keys, and the steps of a
reconciliation in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.controllers.clients import is_conflict, is_forbidden, is_not_found
from apiserver.controllers.conditions import find
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.bind import bind_pods
from apiserver.controllers.inferencejob.create import create_pods
from apiserver.controllers.inferencejob.finalize import finalize
from apiserver.controllers.inferencejob.finish import clean_up, count_failures, keep_deadline
from apiserver.controllers.inferencejob.heal import heal
from apiserver.controllers.inferencejob.hold import release_gang
from apiserver.controllers.inferencejob.ledger import allocations_of, node_of
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.observe import observe
from apiserver.controllers.inferencejob.place import wait_for_place
from apiserver.controllers.inferencejob.pods import controller_of
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.inferencejob.world import Turn, World
from apiserver.controllers.placement.facts import obstacle_of
from apiserver.controllers.reconciler import DONE, Result, TerminalError
from apiserver.controllers.store import key_of
from apiserver.controllers.workqueue import WorkQueue
from apiserver.machinery.errors import APIError

Object = dict[str, Any]

MAX_REFUSED = 100
PUT_OFF_SECONDS = 60.0
"""How long a gang that was refused its pods, and has given its GPUs back, leaves them to others."""
STEPS = (finalize, clean_up, keep_deadline, release_gang, heal, release_gang, count_failures, wait_for_place)
"""In this order; a step that returns True has said the last word of the turn. `release_gang` comes again
after `heal`, which may have decided that the gang is to be released."""


class InferenceJobController:
    """Keys are `namespace/name`."""

    def __init__(self, world: World, queue: WorkQueue) -> None:
        self._world = world
        self._queue = queue
        self._forced: set[str] = set()

    async def reconcile(self, key: str) -> Result:
        """One turn of one job. Raises TerminalError and whatever the world raises."""
        job = self._world.jobs.store.get(key)
        forced = key in self._forced
        self._forced.discard(key)
        if job is None:
            self._world.reported.pop(key, None)
            self._world.idle.pop(key, None)
            return DONE
        turn = Turn(self._world, JobView(job))
        if turn.view.holding:
            self._world.idle.pop(key, None)
        try:
            if forced and turn.view.blocked:
                turn.draft.condition(names.DEGRADED, "False", Reason.HEALTHY, "Trying again")
                await turn.write_status()
            await self._steps(turn)
        except TerminalError as error:
            await self._give_up(turn, error)
            raise
        except APIError as error:
            if is_not_found(error) and error.kind == names.JOBS and error.name == turn.view.name:
                # Deleted in the middle of the turn; its end has come, or comes, as an event.
                return DONE
            if is_forbidden(error):
                await self._refused(turn, error)
            if is_conflict(error):
                await turn.reread()
            raise
        return Result(requeue_after=turn.wait)

    async def _steps(self, turn: Turn) -> None:
        for step in STEPS:
            if await step(turn):
                return
        await create_pods(turn)
        await bind_pods(turn)
        await observe(turn)

    async def _give_up(self, turn: Turn, error: TerminalError) -> None:
        """Say that nothing will be tried until the spec changes, and give the GPUs back meanwhile."""
        turn.draft.condition(names.DEGRADED, "True", error.reason, error.message)
        turn.draft.not_placed(Reason.GANG_RELEASED, error.message)
        turn.draft.set(phase="Degraded")
        turn.event("Warning", error.reason, error.message)
        await turn.write_status()

    async def _refused(self, turn: Turn, error: APIError) -> None:
        """Missing permissions are loud. GPUs are not held for ever by a gang that may not have its pods."""
        if "exceeded quota" not in error.message:
            if len(self._world.refused) >= MAX_REFUSED:
                self._world.refused.clear()
            self._world.refused[error.message] = self._world.clock.monotonic()
        known = find(turn.view.conditions, names.DEGRADED) or {}
        since = known.get("lastTransitionTime") if known.get("reason") == Reason.FORBIDDEN else None
        if known.get("status") != "True" or known.get("message") != error.message:
            turn.event("Warning", Reason.FORBIDDEN, error.message)
        turn.draft.condition(names.DEGRADED, "True", Reason.FORBIDDEN, error.message)
        if turn.view.deleting or not turn.view.finished:
            turn.draft.set(phase="Terminating" if turn.view.deleting else "Degraded", message=error.message)
        lasting = known.get("status") == "True" and turn.age(since) > turn.world.limits.start
        if turn.view.holding and lasting:
            turn.draft.not_placed(Reason.GANG_RELEASED, error.message)
            turn.world.scheduler.put_off(turn.view.key, PUT_OFF_SECONDS)
        await turn.write_status()

    # -- what wakes a job

    def on_job(self, old: Object | None, new: Object | None) -> None:
        """A job was made, changed or deleted."""
        obj = new or old
        if obj is None:
            return
        key = key_of(obj)
        if _trigger(old) != _trigger(new) and old is not None and new is not None:
            self._forced.add(key)
            self._queue.forget(key)
        self._queue.add(key)

    def on_pod(self, old: Object | None, new: Object | None) -> None:
        """A pod of a job was made, changed or deleted."""
        for pod in (old, new):
            owner = controller_of(pod) if pod is not None else None
            if pod is not None and owner is not None and owner.get("kind") == names.KIND:
                self._queue.add(f"{pod['metadata']['namespace']}/{owner['name']}")

    def on_node(self, old: Object | None, new: Object | None) -> None:
        """A node came, went, or changed between usable and not."""
        if old is not None and new is not None and obstacle_of(old) == obstacle_of(new):
            return
        node = new or old
        if node is not None:
            self._wake_jobs_on(str(node["metadata"]["name"]))

    def on_entry(self, old: Object | None, new: Object | None) -> None:
        """An entry of the ledger has lost allocations: those jobs should know."""
        if old is None:
            return
        kept = {(item["uid"], item["replica"]) for item in allocations_of(new or {"metadata": {}})}
        for item in allocations_of(old):
            if (item["uid"], item["replica"]) not in kept:
                self._queue.add(str(item["job"]))

    def _wake_jobs_on(self, node: str) -> None:
        for entry in self._world.cluster.ledger.on_node(node):
            for item in allocations_of(entry):
                self._queue.add(str(item["job"]))


def _trigger(job: Object | None) -> object:
    return ((job or {}).get("metadata", {}).get("annotations") or {}).get(names.TRIGGER)


def entry_handler(add: Callable[[str], None]) -> Callable[[Object | None, Object | None], None]:
    """Wakes the node of an entry of the ledger that changed."""

    def handle(old: Object | None, new: Object | None) -> None:
        entry = new or old
        if entry is not None:
            add(node_of(entry))

    return handle
