"""An informer keeps a picture of a collection by a list and then watches, and tells handlers of every change.

It is a state machine with named states: a 410 is seen and answered by a new list; a broken watch goes on
from the last revision seen. It knows nothing of HTTP and nothing of what the objects mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import random
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from apiserver.controllers import metrics
from apiserver.controllers.clients import ListWatch, is_expired, is_forbidden
from apiserver.controllers.clock import Clock
from apiserver.controllers.store import Indexer, Object, Store, key_of
from apiserver.machinery.errors import APIError

Handler = Callable[[Object | None, Object | None], None]
"""Gets (old, new): old None is an addition, new None a deletion. Must be quick and must not wait."""

FIRST_BACKOFF = 0.2
MAX_BACKOFF = 30.0
MAX_BURIED = 4096
OPEN_SECONDS = 15.0

log = structlog.get_logger(__name__)


class State(enum.Enum):
    """Where an informer is."""

    STARTING = "starting"
    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting to try again"
    STOPPED = "stopped"


class Informer:
    """See the module. `transform` cuts objects down to what is needed before they are kept."""

    def __init__(
        self,
        source: ListWatch,
        clock: Clock,
        *,
        indexers: Mapping[str, Indexer] | None = None,
        transform: Callable[[Object], Object] | None = None,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self.name = source.name
        self.store = Store(indexers)
        self.state = State.STARTING
        self.error: Exception | None = None
        """The failure because of which it waits; None while all is well."""
        self.last_seen = clock.monotonic()
        """When the server last said something, on the monotonic clock."""
        self.complete = asyncio.Event()
        """Set once a complete picture has been had, and handlers were told of all of it."""
        self._source = source
        self._clock = clock
        self._transform = transform or _drop_managed_fields
        self._uniform = uniform
        self._handlers: list[Handler] = []
        self._watching_since = 0.0
        self._buried: OrderedDict[str, None] = OrderedDict()
        self._revision = ""
        self._backoff = FIRST_BACKOFF

    def add_handler(self, handler: Handler) -> None:
        """Tell the handler of every change from now on; call it before `run`."""
        self._handlers.append(handler)

    @property
    def synced(self) -> bool:
        """Whether a complete picture has been had."""
        return self.complete.is_set()

    @property
    def fault(self) -> str:
        """What keeps the picture from being complete and fresh; "" if nothing does."""
        if not self.synced:
            return str(self.error or self.state.value)
        if self.error is None:
            return ""
        # A watch that has opened says nothing until something happens; one that cannot open fails by then.
        steady = (
            self.state is State.WATCHING and self._clock.monotonic() - self._watching_since > OPEN_SECONDS
        )
        return "" if steady else str(self.error)

    @property
    def resource_version(self) -> str:
        """The last revision seen; "" while there is none to go on from."""
        return self._revision

    @property
    def denied(self) -> bool:
        """Whether it waits because RBAC refuses it."""
        return self.error is not None and is_forbidden(self.error)

    async def run(self) -> None:
        """Follow the collection until cancelled. Raises only what handlers raise."""
        cause = "start"
        try:
            while True:
                try:
                    if not self._revision:
                        await self._list(cause)
                    await self._watch()
                except APIError as error:
                    cause = self._note(error)
                    await self._wait()
                except OSError as error:
                    self.error = error
                    log.warning("informer.interrupted", informer=self.name, error=str(error))
                    cause = "interrupted"
                    await self._wait()
        finally:
            self.state = State.STOPPED
            metrics.informer_state.labels(self.name).set(0)

    def record(self, obj: Object) -> None:
        """Take in the result of our own write before the watch brings it, so that the next decision sees it.

        Ignored when the watch has been past it already: the object may have been deleted since.
        """
        if str(obj["metadata"].get("uid")) in self._buried:
            return
        obj = self._transform(obj)
        new = _number(obj["metadata"].get("resourceVersion"))
        old = self.store.get(key_of(obj))
        if old is not None and _number(old["metadata"].get("resourceVersion")) >= new:
            return
        if old is None and new <= _number(self._revision):
            return
        self._put(obj)

    def record_deletion(self, obj: Object) -> None:
        """Take in that an object is gone before the watch says so. Its UID never comes back."""
        self._buried[str(obj["metadata"]["uid"])] = None
        if len(self._buried) > MAX_BURIED:
            self._buried.popitem(last=False)
        held = self.store.get(key_of(obj))
        if held is not None and _same(held, obj):
            self._remove(key_of(obj))

    async def _list(self, cause: str) -> None:
        self.state = State.LISTING
        metrics.informer_relists.labels(self.name, cause).inc()
        items, revision = await self._source.list()
        self._seen()
        fresh = {key_of(item): self._transform(item) for item in items}
        limit = _number(revision)
        for key in self.store.keys() - fresh.keys():
            # An object of our own that was recorded after the list's revision is news, not a ghost.
            held = self.store.get(key)
            if held is None or _number(held["metadata"].get("resourceVersion")) <= limit:
                self._remove(key)
        for obj in fresh.values():
            self._take(obj)
        self._revision = revision
        self._sync()

    async def _watch(self) -> None:
        """Follow until the stream ends cleanly."""
        self.state = State.WATCHING
        started = self._watching_since = self._clock.monotonic()
        stream: Any = self._source.watch(self._revision)
        async with contextlib.aclosing(stream):
            async for event in stream:
                self._seen()
                self._apply(event)
        if self._clock.monotonic() - started < 1.0:
            # A server that ends every watch at once must not be asked in a loop.
            await self._wait()

    def _apply(self, event: Object) -> None:
        obj: Object = event["object"]
        kind = event["type"]
        if kind == "DELETED":
            self._delete(obj)
        elif kind in ("ADDED", "MODIFIED"):
            # What we have of the name may be a later object, recorded when we made it.
            if not self._is_past(obj):
                self._take(self._transform(obj))
        elif kind != "BOOKMARK":
            raise APIError(500, "InternalError", f"unknown type of watch event: {kind!r}")
        self._revision = str(obj["metadata"]["resourceVersion"])

    def _is_past(self, obj: Object) -> bool:
        held = self.store.get(key_of(obj))
        if held is None:
            return False
        return _number(held["metadata"].get("resourceVersion")) > _number(
            obj["metadata"].get("resourceVersion")
        )

    def _take(self, obj: Object) -> None:
        """Store an object unless ours is at least as new (a write of our own that was recorded)."""
        if str(obj["metadata"].get("uid")) in self._buried:
            return
        old = self.store.get(key_of(obj))
        if old is not None:
            known, new = old["metadata"].get("resourceVersion"), obj["metadata"].get("resourceVersion")
            if known == new or (_same(old, obj) and _number(known) > _number(new)):
                return
        self._put(obj)

    def _delete(self, obj: Object) -> None:
        """Forget an object, unless what we have is a later one of the same name."""
        held = self.store.get(key_of(obj))
        if held is None:
            return
        version = _number(obj["metadata"].get("resourceVersion"))
        if not _same(held, obj) and _number(held["metadata"].get("resourceVersion")) > version:
            return
        self._remove(key_of(obj))

    def _put(self, obj: Object) -> None:
        old = self.store.put(obj)
        if old is not None and not _same(old, obj):
            # Deleted and made again while we were not looking: handlers see both.
            self._tell(old, None)
            old = None
        self._tell(old, obj)

    def _remove(self, key: str) -> None:
        old = self.store.remove(key)
        if old is not None:
            self._tell(old, None)

    def _tell(self, old: Object | None, new: Object | None) -> None:
        for handler in self._handlers:
            handler(old, new)

    def _seen(self) -> None:
        self.last_seen = self._clock.monotonic()
        self.error = None
        self._backoff = FIRST_BACKOFF

    def _sync(self) -> None:
        self.complete.set()
        metrics.informer_state.labels(self.name).set(1)

    def _note(self, error: APIError) -> str:
        """Take in an unsuccessful answer; returns the cause for a list that may follow."""
        if is_expired(error):
            self._revision = ""
            log.info("informer.expired", informer=self.name, error=error.message)
            return "expired"
        if error.code == 504 and any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes):
            # The server is behind what we have seen: it was restored from a backup, or is a lagging replica.
            self._revision = ""
        self.error = error
        if is_forbidden(error):
            metrics.forbidden.labels(f"informer-{self.name}").inc()
        log.warning("informer.refused", informer=self.name, code=error.code, error=error.message)
        return "refused"

    async def _wait(self) -> None:
        self.state = State.WAITING
        delay = self._backoff * (1 + 0.2 * self._uniform())
        self._backoff = min(self._backoff * 2, MAX_BACKOFF)
        await self._clock.sleep(delay)


def _same(one: Object, other: Object) -> bool:
    """Whether two states are of the same object, not of two that had the name one after the other."""
    return bool(one["metadata"].get("uid") == other["metadata"].get("uid"))


def _number(version: Any) -> int:
    """A resourceVersion as a number (they are comparable within a resource since Kubernetes 1.35); 0 if it
    is none."""
    return int(version) if isinstance(version, str) and version.isdigit() else 0


def _drop_managed_fields(obj: Object) -> Object:
    """Half of a typical object is managedFields, which no controller reads. Shallow: the rest is shared."""
    if "managedFields" not in obj["metadata"]:
        return obj
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}
