"""The generic store of one resource: what the verbs share.
The verbs themselves are one file each in `verbs/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from apiserver.machinery.codec import splice_resource_version, store_form
from apiserver.machinery.managedfields import FieldManager
from apiserver.machinery.options import WriteOptions
from apiserver.machinery.resource import Resource, Version
from apiserver.registry.faults import storage_faults
from apiserver.registry.hooks import Admission, Caller
from apiserver.registry.keys import KeySpace
from apiserver.registry.view import View
from storage.cache import Entry, WatchCache
from storage.interface import Compare, Delete, KeyValue, Op, Put, Store, Txn

Object = dict[str, Any]

READ_TIMEOUT = 10.0
"""Seconds that a read may wait for storage or for the cache to catch up."""

FUTURE_TIMEOUT = 3.0
"""Seconds that a read waits for a revision that has not been reached, as upstream's watch cache does."""


class Stored:
    """An object of the storage version as of one revision. `encoded` has the resourceVersion in it, `raw` are
    the bytes as stored, without it. Most of what is written is only sent on: it is not decoded before
    somebody asks."""

    __slots__ = ("_obj", "encoded", "raw", "revision")

    def __init__(self, obj: Object | None, revision: int, encoded: bytes, raw: bytes) -> None:
        self._obj = obj
        self.revision = revision
        self.encoded = encoded
        self.raw = raw

    @property
    def obj(self) -> Object:
        """The object; whoever wants to change it takes a copy by `decode`."""
        if self._obj is None:
            self._obj = self.decode()
        return self._obj

    def decode(self) -> Object:
        """A copy that may be changed."""
        decoded: Object = orjson.loads(self.encoded)
        return decoded


def stored_from(item: KeyValue) -> Stored:
    """Decode what storage holds."""
    encoded = splice_resource_version(item.value, item.mod_revision)
    return Stored(None, item.mod_revision, encoded, item.value)


class ResourceStore:
    """Where the objects of one resource are kept, with the rules that hold for them."""

    def __init__(
        self,
        resource: Resource,
        *,
        keys: KeySpace,
        storage: Store,
        cache: WatchCache[View],
        admission: Admission,
    ) -> None:
        self.resource = resource
        self.keys = keys
        self.storage = storage
        self.cache = cache
        self.admission = admission
        self.field_manager = FieldManager.for_resource(resource)

    def version(self, name: str) -> Version:
        """The declaration of a version."""
        return self.resource.by_version[name]

    def key(self, namespace: str, name: str) -> bytes:
        """The key of an object."""
        return self.keys.object(self.resource, namespace, name)

    async def fresh(self) -> int:
        """Wait until the cache shows everything that was acknowledged before this call. Raises 503 or 504."""
        with storage_faults():
            return await self.cache.fresh(READ_TIMEOUT)

    async def cache_reaches(self, revision: int) -> None:
        """Wait a moment for a revision that has not been reached. Raises 504 if it is not."""
        with storage_faults(revision):
            await self.cache.wait_for(revision, FUTURE_TIMEOUT)

    def cached(self, key: bytes) -> Stored | None:
        """What the cache holds, which may be behind storage."""
        entry = self.cache.get(key)
        return _from_entry(entry) if entry is not None else None

    async def latest(self, key: bytes) -> Stored | None:
        """What storage holds now."""
        await self.fresh()
        return self.cached(key)

    async def commit(self, key: bytes, revision: int, value: bytes) -> Txn:
        """Write a value if the key is still at `revision` (0: does not exist)."""
        return await self.transact([Compare(key, revision)], [Put(key, value)])

    async def remove(self, key: bytes, revision: int) -> Txn:
        """Delete a key if it is still at `revision`."""
        return await self.transact([Compare(key, revision)], [Delete(key)])

    async def transact(self, compares: Sequence[Compare], ops: Sequence[Op]) -> Txn:
        """One storage transaction, with its errors turned into API errors."""
        with storage_faults():
            return await self.storage.txn(compares, ops)

    def restamp(self, view: View, revision: int) -> View:
        """The same object under another revision: how a deletion shows the last state."""
        obj = view.decode()
        obj["metadata"]["resourceVersion"] = str(revision)
        return View(view.namespace, view.name, view.labels, view.fields, orjson.dumps(obj))

    def track(
        self,
        live: Object | None,
        obj: Object,
        version: str,
        subresource: str,
        options: WriteOptions,
        caller: Caller,
    ) -> None:
        """Note in the managed fields of `obj` who set what by a write that is no apply; None: it is new."""
        self.field_manager.update(
            live,
            obj,
            manager=options.field_manager or caller.user_agent,
            operation="Update",
            version=version,
            subresource=subresource,
            now=caller.timestamp(),
        )

    def encode(self, obj: Object) -> bytes:
        """The bytes to store for an object of the storage version."""
        return store_form(obj)

    def written(self, raw: bytes, revision: int) -> Stored:
        """What was just written, as it will be read."""
        return Stored(None, revision, splice_resource_version(raw, revision), raw)


def _from_entry(entry: Entry[View]) -> Stored:
    return Stored(None, entry.mod_revision, entry.view.encoded, entry.value)


class Registry:
    """All resources that a server serves, by group and plural name."""

    def __init__(self, stores: Sequence[ResourceStore]) -> None:
        self._stores = {(store.resource.group, store.resource.plural): store for store in stores}

    def __iter__(self) -> Iterator[ResourceStore]:
        return iter(self._stores.values())

    def get(self, group: str, plural: str) -> ResourceStore | None:
        """The store of a resource, or None when it is not served."""
        return self._stores.get((group, plural))

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The declarations of everything that is served."""
        return tuple(store.resource for store in self._stores.values())
