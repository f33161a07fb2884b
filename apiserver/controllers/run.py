"""Runs the selected controllers while this process leads, and says how they are.

Everything a leader knows is made when it starts to lead and thrown away when it stops: no picture outlives
its time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence

from apiserver.controllers.clients import Host, Objects
from apiserver.controllers.clock import Clock, SystemClock
from apiserver.controllers.events import EventRecorder
from apiserver.controllers.informer import Informer
from apiserver.controllers.leaderelection import LeaderElector, LeaseOptions
from apiserver.controllers.reconciler import Runner
from apiserver.controllers.registry import Build, Check, Controller, Shared, controllers, selected

COMPONENT = "inference-apiserver"
MAX_DEPTH = 1000
"""More keys than this in a queue mean that the controllers do not keep up."""
FLUSH_SECONDS = 2.0


class Controllers:
    """The controllers of this process. `run` them; ask `checks` for their health."""

    def __init__(
        self,
        *,
        objects: Objects,
        host: Host,
        selection: Sequence[str] = ("*",),
        leader_election: LeaseOptions | None = None,
        clock: Clock | None = None,
        identity: str,
        known: Mapping[str, Build] | None = None,
    ) -> None:
        """`leader_election` None means that this process is the only one. Raises ValueError for an unknown
        name in the selection."""
        self._builds = selected(known if known is not None else controllers(), selection)
        self._objects = objects
        self._host = host
        self._clock = clock or SystemClock()
        self._identity = identity
        self._elector = (
            LeaderElector(host, leader_election, identity, self._clock) if leader_election else None
        )
        self._shared: Shared | None = None
        self._controllers: dict[str, Controller] = {}

    @property
    def leading(self) -> bool:
        """Whether this process runs its controllers now."""
        return self._shared is not None

    async def run(self) -> None:
        """Run until cancelled; raises what no controller can go on with."""
        if self._elector is None:
            await self._lead()
        else:
            await self._elector.run(self._lead)

    def checks(self) -> dict[str, Check]:
        """Health checks by name. A process that does not lead is healthy: it stands by."""
        return {
            "informers-synced": self._informers,
            "queue-depth": self._depth,
            "permissions": self._permissions,
        }

    def report(self) -> dict[str, object]:
        """Where the controllers stand, for diagnosis: leadership, queues, informers."""
        shared = self._shared
        now = self._clock.monotonic()
        return {
            "leading": self.leading,
            "holder": self._elector.holder if self._elector else self._identity,
            "queues": {runner.name: len(runner.queue) for runner in self._runners()},
            "secondsSinceSuccess": {
                runner.name: None if runner.last_success is None else round(now - runner.last_success, 1)
                for runner in self._runners()
            },
            "informers": {
                name: {
                    "state": informer.state.value,
                    "objects": len(informer.store),
                    "secondsSinceNews": round(now - informer.last_seen, 1),
                    "error": informer.fault,
                }
                for name, informer in (shared.informers.items() if shared else ())
            },
        }

    async def _lead(self) -> None:
        events = EventRecorder(self._host, self._clock, component=COMPONENT, identity=self._identity)
        shared = Shared(self._objects, self._host, self._clock, events)
        self._controllers = {name: build(shared) for name, build in self._builds.items()}
        self._shared = shared
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(events.run(), name="events")
                for name, informer in shared.informers.items():
                    group.create_task(informer.run(), name=f"informer-{name}")
                for informer in shared.informers.values():
                    await informer.complete.wait()
                for name, controller in self._controllers.items():
                    self._start(group, name, controller)
        finally:
            self._shared = None
            self._controllers = {}
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await events.flush()

    def _start(self, group: asyncio.TaskGroup, name: str, controller: Controller) -> None:
        for runner in controller.runners:
            group.create_task(runner.run(), name=f"{name}-workers")
        for number, loop in enumerate(controller.loops):
            group.create_task(loop(), name=f"{name}-loop-{number}")

    def _runners(self) -> list[Runner]:
        return [runner for controller in self._controllers.values() for runner in controller.runners]

    def _informers(self) -> str:
        informers: Mapping[str, Informer] = self._shared.informers if self._shared else {}
        return "; ".join(
            f"{name}: {informer.fault}" for name, informer in informers.items() if informer.fault
        )

    def _depth(self) -> str:
        deep = [
            f"{runner.name}: {len(runner.queue)} keys wait"
            for runner in self._runners()
            if len(runner.queue) > MAX_DEPTH
        ]
        return "; ".join(deep)

    def _permissions(self) -> str:
        informers: Mapping[str, Informer] = self._shared.informers if self._shared else {}
        denied = [str(informer.error) for informer in informers.values() if informer.denied]
        for controller in self._controllers.values():
            check = controller.checks.get("permissions")
            if check is not None and check():
                denied.append(check())
        return "; ".join(denied)
