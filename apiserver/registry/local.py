"""The resources for controllers in the same process:
no HTTP, plain dicts of the storage version, and transactions over several objects.
The same rules hold as for clients: validation, generation, managed fields, watches.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from apiserver.machinery import errors
from apiserver.machinery.options import (
    NOT_OLDER_THAN,
    DeleteOptions,
    ListOptions,
    Preconditions,
    WriteOptions,
)
from apiserver.machinery.patch import copy_json
from apiserver.registry import metadata
from apiserver.registry.hooks import Caller, User
from apiserver.registry.intake import take_in
from apiserver.registry.representation import Whole
from apiserver.registry.selection import select
from apiserver.registry.store import ResourceStore, Stored
from apiserver.registry.verbs.create import create, prepare
from apiserver.registry.verbs.delete import delete
from apiserver.registry.verbs.list import list_objects
from apiserver.registry.verbs.update import Update, update
from apiserver.registry.verbs.update import prepare as prepare_update
from apiserver.registry.verbs.watch import watch
from storage.interface import Compare, Delete, Op, Put

Object = dict[str, Any]
Objects = list[Object]


class Change(Protocol):
    """One write of a transaction: `kind` is create, update, update_status or delete."""

    @property
    def resource(self) -> str:
        """The plural name."""
        ...

    @property
    def obj(self) -> Object:
        """The object, with the resourceVersion that is compared."""
        ...

    @property
    def kind(self) -> str:
        """What to do with it."""
        ...


@dataclass(frozen=True, slots=True)
class _Planned:
    store: ResourceStore
    key: bytes
    compare: Compare
    op: Op | None
    """None when the change changes nothing: the revision is compared all the same."""
    raw: bytes
    live: Stored | None


class LocalObjects:
    """All resources of one group, by plural name. `manager` is the field manager of what is written."""

    def __init__(self, stores: Sequence[ResourceStore], manager: str, user: User | None = None) -> None:
        self._stores = {store.resource.plural: store for store in stores}
        self._options = WriteOptions(field_manager=manager, field_validation="Ignore")
        self._user = user

    async def list(self, resource: str, *, namespace: str = "") -> tuple[list[Object], str]:
        """All objects as of now, and the revision to watch from."""
        store = self._stores[resource]
        options = ListOptions()
        selection = select(store.resource, namespace, "", options)
        listing = await list_objects(store, selection, options)
        return [view.decode() for view in listing.views], str(listing.revision)

    async def watch(self, resource: str, *, resource_version: str) -> AsyncIterator[Object]:
        """Events after a revision, for ever. Raises APIError 410 when it is too old."""
        store = self._stores[resource]
        version = store.resource.storage_version
        options = ListOptions(watch=True, allow_watch_bookmarks=True, resource_version=resource_version)
        if resource_version in ("", "0"):
            options = ListOptions(
                watch=True,
                allow_watch_bookmarks=True,
                resource_version=resource_version,
                send_initial_events=True,
                resource_version_match=NOT_OLDER_THAN,
            )
        selection = select(store.resource, "", "", options)
        clock = asyncio.get_running_loop().time
        opened = await watch(store, selection, Whole(store.resource, version), options, clock)
        async for frames in opened.frames():
            for frame in frames.splitlines():
                event = orjson.loads(frame)
                if event["type"] == "ERROR":
                    raise errors.expired(event["object"]["message"])
                yield event

    async def get(self, resource: str, namespace: str, name: str) -> Object:
        """One object as of now. Raises 404."""
        store = self._stores[resource]
        live = await store.latest(store.key(namespace, name))
        if live is None:
            raise errors.not_found(store.resource.group_resource, name)
        return live.obj

    async def create(self, resource: str, obj: Object) -> Object:
        """Create an object."""
        store = self._stores[resource]
        body = _taken_in(store, obj)
        namespace = body["metadata"].get("namespace", "")
        version = store.resource.storage_version
        stored = await create(store, version, namespace, body, self._options, self._caller())
        return stored.obj

    async def update(self, resource: str, obj: Object) -> Object:
        """Replace an object. Raises 409 when it is not as read."""
        return await self._update(resource, obj, "")

    async def update_status(self, resource: str, obj: Object) -> Object:
        """Replace the status of an object. Raises 409 when it is not as read."""
        return await self._update(resource, obj, "status")

    async def delete(self, resource: str, obj: Object) -> None:
        """Delete an object if it is as read. Raises 404 and 409."""
        store, meta = self._stores[resource], obj["metadata"]
        options = DeleteOptions(
            preconditions=Preconditions(meta.get("uid"), meta.get("resourceVersion")),
            propagation_policy="Background",
        )
        version = store.resource.storage_version
        await delete(store, version, meta.get("namespace", ""), meta["name"], options, self._caller())

    async def transact(self, changes: Sequence[Change]) -> Objects:
        """All changes or none, in one storage transaction that compares every object's revision.
        Raises 409."""
        planned = [await self._plan(change) for change in changes]
        storage = planned[0].store
        outcome = await storage.transact(
            [plan.compare for plan in planned], [plan.op for plan in planned if plan.op is not None]
        )
        if not outcome.succeeded:
            raise self._conflict(planned, outcome.current)
        return [self._result(plan, outcome.revision) for plan in planned]

    async def _update(self, resource: str, obj: Object, subresource: str) -> Object:
        request = self._request(self._stores[resource], obj, subresource)
        return (await update(request)).stored.obj

    async def _plan(self, change: Change) -> _Planned:
        store, meta = self._stores[change.resource], change.obj["metadata"]
        key = store.key(meta.get("namespace", ""), meta["name"])
        if change.kind == "create":
            return self._plan_create(store, key, change.obj)
        live = store.cached(key)
        if live is None or str(live.revision) != meta["resourceVersion"]:
            live = await store.latest(key)
        if live is None or str(live.revision) != meta["resourceVersion"]:
            raise errors.conflict(store.resource.group_resource, meta["name"], errors.STALE)
        compare = Compare(key, live.revision)
        if change.kind == "delete":
            return _Planned(store, key, compare, Delete(key), live.raw, live)
        subresource = "status" if change.kind == "update_status" else ""
        wanted = await prepare_update(self._request(store, change.obj, subresource), live)
        if wanted is None:
            return _Planned(store, key, compare, None, live.raw, live)
        op: Op = Delete(key) if wanted.finished else Put(key, wanted.raw)
        return _Planned(store, key, compare, op, wanted.raw, live)

    def _plan_create(self, store: ResourceStore, key: bytes, obj: Object) -> _Planned:
        body = _taken_in(store, obj)
        status = body.get("status")
        caller = self._caller()
        version = store.resource.storage_version
        metadata.wipe_system_fields(body)
        body["metadata"].pop("resourceVersion", None)
        store.track(None, body, version, "", self._options, caller)
        metadata.fill_system_fields(body, caller)
        stored = prepare(store, version, body, caller)
        if status is not None:
            # A transaction makes an object whole: nobody shall see it without the status that belongs to it.
            stored["status"] = status
        raw = store.encode(stored)
        return _Planned(store, key, Compare(key, 0), Put(key, raw), raw, None)

    def _request(self, store: ResourceStore, obj: Object, subresource: str) -> Update:
        meta, version, caller = obj["metadata"], store.resource.storage_version, self._caller()

        def mutate(live: Object | None) -> Object:
            body = _taken_in(store, obj)
            store.track(live, body, version, subresource, self._options, caller)
            return body

        return Update(
            store,
            version,
            meta.get("namespace", ""),
            meta["name"],
            subresource,
            mutate,
            self._options,
            caller,
        )

    def _conflict(self, planned: Sequence[_Planned], current: Sequence[Any]) -> errors.APIError:
        for plan, item in zip(planned, current, strict=True):
            if (item.mod_revision if item is not None else 0) == plan.compare.mod_revision:
                continue
            name = plan.key.rpartition(b"/")[2].decode()
            if plan.compare.mod_revision == 0:
                return errors.already_exists(plan.store.resource.group_resource, name)
            return errors.conflict(plan.store.resource.group_resource, name, errors.STALE)
        return errors.conflict(planned[0].store.resource.group_resource, "", errors.STALE)

    def _result(self, plan: _Planned, revision: int) -> Object:
        if plan.op is None or isinstance(plan.op, Delete):
            revision = plan.live.revision if plan.live is not None else revision
        return plan.store.written(plan.raw, revision).obj

    def _caller(self) -> Caller:
        return Caller(user=self._user)


def _taken_in(store: ResourceStore, obj: Object) -> Object:
    """A copy of the object that may be changed, defaulted like one from a client."""
    body: Object = copy_json(obj)
    take_in(store.resource, store.resource.storage_version, body)
    return body
