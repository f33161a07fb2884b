"""Events on objects, so that `kubectl describe` tells the whole story. Written to the host cluster in the
background: recording one never waits and never fails a reconciliation.

As in client-go, equal events are counted up instead of repeated, and an object that makes too many is
limited (25 at once, then one in five minutes).
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Literal

import structlog

from apiserver.controllers import metrics
from apiserver.controllers.clients import Host, Object, is_not_found
from apiserver.controllers.clock import Clock, timestamp
from apiserver.machinery.errors import APIError

QUEUE_LIMIT = 1000
KNOWN_LIMIT = 4096
BURST = 25.0
REFILL_SECONDS = 300.0
AGGREGATE_SECONDS = 600.0
MESSAGE_LIMIT = 1024
SEND_SECONDS = 10.0

EventType = Literal["Normal", "Warning"]

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Known:
    """An event that was written: further equal ones only raise its count."""

    name: str
    count: int
    last: float


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(frozen=True, slots=True)
class _Entry:
    obj: Object
    type: EventType
    reason: str
    message: str
    at: str


class EventRecorder:
    """Takes events; `run` writes them."""

    def __init__(self, host: Host, clock: Clock, *, component: str, identity: str) -> None:
        self._host = host
        self._clock = clock
        self._component = component
        self._identity = identity
        self._queue: deque[_Entry] = deque()
        self._wake = asyncio.Event()
        self._known: OrderedDict[tuple[str, str, str, str], _Known] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def event(self, obj: Object, event_type: EventType, reason: str, message: str) -> None:
        """Record an event about an object. Dropped, and counted as such, when there are too many."""
        if not self._allowed(obj["metadata"]["uid"]):
            metrics.events_dropped.labels("limited").inc()
            return
        if len(self._queue) >= QUEUE_LIMIT:
            metrics.events_dropped.labels("queue_full").inc()
            return
        at = timestamp(self._clock.now())
        self._queue.append(_Entry(obj, event_type, reason, message[:MESSAGE_LIMIT], at))
        self._wake.set()

    async def run(self) -> None:
        """Write what is recorded, until cancelled."""
        while True:
            await self._wake.wait()
            while self._queue:
                await self._send(self._queue.popleft())
            self._wake.clear()

    async def flush(self) -> None:
        """Write what waits; for an orderly end."""
        while self._queue:
            await self._send(self._queue.popleft())

    def _allowed(self, uid: str) -> bool:
        now = self._clock.monotonic()
        bucket = self._buckets.pop(uid, None) or _Bucket(BURST, now)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.at) / REFILL_SECONDS)
        bucket.at = now
        self._buckets[uid] = bucket
        if len(self._buckets) > KNOWN_LIMIT:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    async def _send(self, entry: _Entry) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._write(entry)
        except (APIError, OSError) as error:
            metrics.events_dropped.labels("refused" if isinstance(error, APIError) else "unreachable").inc()
            log.warning(
                "event.dropped", reason=entry.reason, object=entry.obj["metadata"]["name"], error=str(error)
            )

    async def _write(self, entry: _Entry) -> None:
        key = (entry.obj["metadata"]["uid"], entry.type, entry.reason, entry.message)
        known = self._known.get(key)
        fresh = known is not None and self._clock.monotonic() - known.last < AGGREGATE_SECONDS
        if known and fresh and await self._count_up(entry, known):
            self._known.move_to_end(key)
            return
        event = self._make(entry)
        await self._host.create(_path(entry), event)
        self._known[key] = _Known(event["metadata"]["name"], 1, self._clock.monotonic())
        self._known.move_to_end(key)
        if len(self._known) > KNOWN_LIMIT:
            self._known.popitem(last=False)

    async def _count_up(self, entry: _Entry, known: _Known) -> bool:
        """Raise the count of an event; False if it is gone (events live an hour)."""
        patch = {"count": known.count + 1, "lastTimestamp": entry.at}
        try:
            await self._host.patch(f"{_path(entry)}/{known.name}", patch)
        except APIError as error:
            if is_not_found(error):
                return False
            raise
        known.count += 1
        known.last = self._clock.monotonic()
        return True

    def _make(self, entry: _Entry) -> Object:
        """A core/v1 Event; its name is the object's with a random part, as client-go makes it."""
        metadata = entry.obj["metadata"]
        namespace = metadata.get("namespace")
        involved = {
            "apiVersion": entry.obj.get("apiVersion"),
            "kind": entry.obj.get("kind"),
            "name": metadata["name"],
            "namespace": namespace,
            "uid": metadata["uid"],
            "resourceVersion": metadata.get("resourceVersion"),
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata['name'][:236]}.{secrets.token_hex(8)}",
                "namespace": namespace or "default",
            },
            "involvedObject": {key: value for key, value in involved.items() if value},
            "type": entry.type,
            "reason": entry.reason,
            "message": entry.message,
            "firstTimestamp": entry.at,
            "lastTimestamp": entry.at,
            "count": 1,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._identity,
        }


def _path(entry: _Entry) -> str:
    """Events of cluster-scoped objects live in the namespace default."""
    return f"/api/v1/namespaces/{entry.obj['metadata'].get('namespace') or 'default'}/events"
