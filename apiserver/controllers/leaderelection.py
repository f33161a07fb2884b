"""One leader at a time, by a `coordination.k8s.io/v1` Lease in the host cluster.

The protocol is that of client-go's leaderelection: a candidate watches how long the lease goes unchanged *by
its own monotonic clock* and takes it after `lease_seconds`; a leader that cannot renew stops after
`renew_seconds`, which is shorter. Wall clocks of different machines are never compared. That two may believe
they lead (a stopped process, a slow clock) is survivable by design: placements are transactions.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog

from apiserver.controllers import metrics
from apiserver.controllers.clients import Host, Object, is_already_exists, is_conflict, is_not_found
from apiserver.controllers.clock import Clock, micro_timestamp
from apiserver.machinery.errors import APIError

log = structlog.get_logger(__name__)

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """Where the lease is and its times in seconds; the defaults are those of Kubernetes' own components."""

    namespace: str
    name: str
    lease_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0

    def __post_init__(self) -> None:
        if not self.retry_seconds * 1.2 < self.renew_seconds < self.lease_seconds:
            raise ValueError("leader election needs retry_seconds < renew_seconds < lease_seconds")


class LeaderElector:
    """A candidate. `identity` must differ between processes."""

    def __init__(
        self,
        host: Host,
        options: LeaseOptions,
        identity: str,
        clock: Clock,
        *,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._host = host
        self._options = options
        self._identity = identity
        self._clock = clock
        self._uniform = uniform
        self._seen: Object | None = None
        self._seen_at = 0.0
        self.leading = False
        self._collection = LEASES.format(namespace=options.namespace)

    @property
    def holder(self) -> str:
        """Who holds the lease as far as is known; "" if nobody does."""
        spec = (self._seen or {}).get("spec") or {}
        return str(spec.get("holderIdentity") or "")

    async def run(self, body: Callable[[], Awaitable[None]]) -> None:
        """Whenever this process leads, run `body`; cancel it as soon as the lead is lost; never returns by
        itself. What `body` raises is raised, after the lease was given back."""
        while True:
            await self._acquire()
            await self._lead(body)

    async def _acquire(self) -> None:
        while not await self._try():
            await self._clock.sleep(self._options.retry_seconds * (1 + 0.2 * self._uniform()))

    async def _lead(self, body: Callable[[], Awaitable[None]]) -> None:
        self._announce(True)
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(_finish(body), name="leading")
                renewing = group.create_task(self._renew(), name="renew-lease")
                await asyncio.wait((work, renewing), return_when=asyncio.FIRST_COMPLETED)
                work.cancel()
                renewing.cancel()
        finally:
            self._announce(False)
            await self._release()

    def _announce(self, leading: bool) -> None:
        self.leading = leading
        metrics.leader.labels(self._options.name).set(int(leading))
        log.info("leader.started" if leading else "leader.stopped", identity=self._identity)

    async def _renew(self) -> None:
        """Renew until that has failed for `renew_seconds`, or another holds the lease."""
        renewed = self._clock.monotonic()
        while True:
            await self._clock.sleep(self._options.retry_seconds)
            left = renewed + self._options.renew_seconds - self._clock.monotonic()
            if left <= 0:
                log.error("leader.lost", identity=self._identity, cause="not renewed in time")
                return
            asked = self._clock.monotonic()
            if await self._try(limit=left):
                renewed = asked
            elif self.holder not in ("", self._identity):
                log.error("leader.lost", identity=self._identity, cause=f"{self.holder} holds the lease")
                return

    async def _try(self, *, limit: float | None = None) -> bool:
        """Take or renew the lease; False when another holds it, or on any failure,
        or after `limit` seconds."""
        try:
            async with asyncio.timeout(limit or self._options.renew_seconds):
                return await self._take()
        except (APIError, OSError) as error:
            if not is_conflict(error):
                log.warning("leader.lease_failed", identity=self._identity, error=_say(error))
            return False

    async def _take(self) -> bool:
        try:
            lease = await self._host.get(f"{self._collection}/{self._options.name}")
        except APIError as error:
            if not is_not_found(error):
                raise
            return await self._create()
        self._observe(lease)
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder not in ("", self._identity):
            duration = float(spec.get("leaseDurationSeconds") or self._options.lease_seconds)
            if self._clock.monotonic() < self._seen_at + duration:
                return False
        self._observe(await self._host.update(self._path, {**lease, "spec": self._spec(spec)}))
        return True

    @property
    def _path(self) -> str:
        return f"{self._collection}/{self._options.name}"

    async def _create(self) -> bool:
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._options.name, "namespace": self._options.namespace},
            "spec": self._spec({}),
        }
        try:
            self._observe(await self._host.create(self._collection, lease))
        except APIError as error:
            if is_already_exists(error):
                return False
            raise
        return True

    def _spec(self, old: dict[str, Any]) -> dict[str, Any]:
        now = micro_timestamp(self._clock.now())
        mine = old.get("holderIdentity") == self._identity
        transitions = int(old.get("leaseTransitions") or 0)
        return {
            **old,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._options.lease_seconds),
            "acquireTime": old.get("acquireTime") or now if mine else now,
            "renewTime": now,
            "leaseTransitions": transitions if mine or not old else transitions + 1,
        }

    def _observe(self, lease: Object) -> None:
        """Note the lease, and when it was first seen in this state."""
        if self._seen is None or self._seen.get("spec") != lease.get("spec"):
            self._seen_at = self._clock.monotonic()
        self._seen = lease

    async def _release(self) -> None:
        """Give the lease back, so that the next leader need not wait;
        best effort, at most one retry period."""
        lease = self._seen
        if lease is None or self.holder != self._identity:
            return
        now = micro_timestamp(self._clock.now())
        spec = {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": (lease.get("spec") or {}).get("leaseTransitions", 0),
        }
        try:
            async with asyncio.timeout(self._options.retry_seconds):
                self._observe(await self._host.update(self._path, {**lease, "spec": spec}))
        except (APIError, OSError) as error:
            log.warning("leader.release_failed", identity=self._identity, error=_say(error))


def _say(error: BaseException) -> str:
    return str(error) or type(error).__name__


async def _finish(body: Callable[[], Awaitable[None]]) -> None:
    await body()
