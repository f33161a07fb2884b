"""update: read, change, judge, write back if nobody was faster.
PUT, every patch, and the subresources end here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apiserver.machinery import errors
from apiserver.machinery.field import FieldError
from apiserver.machinery.options import WriteOptions
from apiserver.machinery.strconv import parse_unsigned
from apiserver.registry import checks, metadata
from apiserver.registry.hooks import Attributes, Caller
from apiserver.registry.store import ResourceStore, Stored, stored_from
from apiserver.registry.verbs.create import admit_and_store

Object = dict[str, Any]

Mutate = Callable[[Object | None], Object]
"""From the live object in the version of the request (None: there is none) to the wanted one. May raise
APIError. Called again with the newer object after a lost race; may change its argument."""

MAX_TRIES = 64
"""How often a lost race is run again before the client is told of the conflict."""


@dataclass(frozen=True, slots=True)
class Update:
    """One request to change one object."""

    store: ResourceStore
    version: str
    namespace: str
    name: str
    subresource: str
    mutate: Mutate
    options: WriteOptions
    caller: Caller
    may_create: bool = False
    unconditional: bool = False
    """Take a missing resourceVersion as the live one: patches start from the live object."""
    uid: str = ""
    """The only uid that the live object may have; empty: any."""

    @property
    def key(self) -> bytes:
        """The key of the object."""
        return self.store.key(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Updated:
    """The outcome: the object as it is now stored, and whether it was created."""

    stored: Stored
    created: bool = False


@dataclass(frozen=True, slots=True)
class _Lost:
    """The race is lost, to the object as it is `live` now."""

    live: Stored | None


async def update(request: Update) -> Updated:
    """Carry the change out. Raises 400, 403, 404, 409, 413, 422, 503, 504.

    The first try is about what the cache shows, which a write checks. What ends without a write (a refusal,
    nothing to change, nothing there) is not believed before storage has shown the same.
    """
    live = request.store.cached(request.key)
    checked = False
    for _ in range(MAX_TRIES):
        try:
            wanted = None if live is None else await prepare(request, live)
        except errors.APIError as error:
            if checked or error.code >= 500 or not (lost := await _overtaken(request, live)):
                raise
        else:
            if live is not None and wanted is not None:
                outcome = await _commit(request, live, wanted)
                if isinstance(outcome, Updated):
                    return outcome
                lost = outcome
            elif checked or not (lost := await _overtaken(request, live)):
                return await _create(request) if live is None else Updated(live)
        live, checked = lost.live, True
    raise errors.conflict(request.store.resource.group_resource, request.name, errors.STALE)


async def _overtaken(request: Update, shown: Stored | None) -> _Lost | None:
    """What storage holds, if it is not what the cache has shown."""
    newest = await request.store.latest(request.key)
    same = (newest.revision if newest else 0) == (shown.revision if shown else 0)
    return None if same else _Lost(newest)


async def _create(request: Update) -> Updated:
    store = request.store
    if not request.may_create:
        raise errors.not_found(store.resource.group_resource, request.name)
    obj = request.mutate(None)
    _match_url(request, obj)
    if obj["metadata"].get("uid"):
        why = (
            f"uid mismatch: the provided object specified uid {obj['metadata']['uid']}, "
            "and no existing object was found"
        )
        raise errors.conflict(store.resource.group_resource, request.name, why)
    # Upstream compares a resourceVersion with that of the live object only where there is one.
    obj["metadata"].pop("resourceVersion", None)
    if request.caller.may_create is not None:
        await request.caller.may_create()
    stored = await admit_and_store(store, request.version, obj, request.options, request.caller)
    return Updated(stored, created=True)


def _match_url(request: Update, obj: Object) -> None:
    metadata.ensure_namespace(request.store.resource, obj, request.namespace)
    metadata.check_name(obj, request.name)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an update would write; `finished` when the last finalizer has gone,
    so that the object goes too."""

    stored: Object
    raw: bytes
    finished: bool


async def prepare(request: Update, live: Stored) -> Wanted | None:
    """The object to write, or None when nothing changes."""
    store, version = request.store, request.version
    resource = store.resource
    _match_uid(request, live)
    old = resource.convert(live.decode(), resource.storage_version, version)
    obj = request.mutate(resource.convert(live.decode(), resource.storage_version, version))
    _match_url(request, obj)
    _match_revision(request, obj, live)
    meta = obj["metadata"]
    attributes = Attributes(
        "UPDATE",
        resource,
        version,
        meta.get("namespace", ""),
        meta.get("name", ""),
        request.subresource,
        obj,
        old,
        request.options,
        request.caller.user,
    )
    await store.admission.admit(attributes)
    metadata.dedup_owner_references(obj, request.caller)
    obj = _only_what_may_change(request, obj, old)
    metadata.carry_over(obj, old)
    stored_old = live.decode()
    stored = _judge(request, obj, old, stored_old)
    if metadata.same_but_for_managed_times(stored, stored_old):
        stored["metadata"]["managedFields"] = stored_old["metadata"].get("managedFields", [])
    await store.admission.validate(attributes)
    checks.warn_of_finalizers(obj, old, request.caller)
    if request.subresource != "status":
        for sentence in resource.strategy.warnings(stored):
            request.caller.warn(sentence)
    raw = store.encode(stored)
    if raw == live.raw or stored == stored_old:
        return None
    return Wanted(stored, raw, metadata.is_finished(stored))


def _judge(request: Update, obj: Object, old: Object, stored_old: Object) -> Object:
    """Run strategy and rules over the wanted object; gives it in the storage version."""
    resource, version = request.store.resource, request.version
    stored = resource.convert(obj, version, resource.storage_version)
    if request.subresource == "status":
        resource.strategy.prepare_for_status_update(stored, stored_old)
        checks.check_status_update(resource, version, obj, old, stored, stored_old)
    else:
        resource.strategy.prepare_for_update(stored, stored_old)
        metadata.bump_generation(stored, stored_old)
        obj["metadata"]["generation"] = stored["metadata"].get("generation", 0)
        checks.check_update(resource, version, obj, old, stored, stored_old)
    return stored


def _only_what_may_change(request: Update, obj: Object, old: Object) -> Object:
    """Status is written through /status alone, and /status writes nothing else."""
    if request.subresource == "status":
        kept = {**old, "metadata": dict(old["metadata"])}
        managed = obj["metadata"].get("managedFields")
        if managed is not None:
            kept["metadata"]["managedFields"] = managed
        else:
            kept["metadata"].pop("managedFields", None)
        kept.pop("status", None)
        if "status" in obj:
            kept["status"] = obj["status"]
        return kept
    if request.store.resource.status:
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]
    return obj


def _match_revision(request: Update, obj: Object, live: Stored) -> None:
    resource = request.store.resource
    given = obj["metadata"].get("resourceVersion") or ""
    if given in ("", "0"):
        if request.unconditional or resource.strategy.allow_unconditional_update:
            obj["metadata"]["resourceVersion"] = str(live.revision)
            return
        detail = "must be specified for an update"
        error = FieldError("FieldValueInvalid", "metadata.resourceVersion", detail, 0)
        raise errors.invalid(resource.plural, resource.group, request.name, [error])
    try:
        wanted = parse_unsigned(given)
    except ValueError as wrong:
        error = FieldError("FieldValueInvalid", "resourceVersion", str(wrong), given)
        raise errors.invalid(resource.plural, resource.group, request.name, [error]) from None
    if wanted != live.revision:
        raise errors.conflict(resource.group_resource, request.name, errors.STALE)


def _match_uid(request: Update, live: Stored) -> None:
    """A replacement that names a uid is meant for that object alone.
    The text is that of a custom resource."""
    given, actual = request.uid, live.obj["metadata"]["uid"]
    if given and given != actual:
        resource = request.store.resource
        parts = ("/registry", resource.group, resource.plural, request.namespace, request.name)
        why = (
            f"StorageError: invalid object, Code: 4, Key: {'/'.join(part for part in parts if part)}, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            f"UID in precondition: {given}, UID in object meta: {actual}"
        )
        raise errors.conflict(resource.group_resource, request.name, why)


async def _commit(request: Update, live: Stored, wanted: Wanted) -> Updated | _Lost:
    store = request.store
    if request.options.dry_run:
        return Updated(
            Stored(wanted.stored, live.revision, store.written(wanted.raw, live.revision).encoded, wanted.raw)
        )
    if wanted.finished:
        outcome = await store.remove(request.key, live.revision)
    else:
        outcome = await store.commit(request.key, live.revision, wanted.raw)
    if outcome.succeeded:
        return Updated(store.written(wanted.raw, live.revision if wanted.finished else outcome.revision))
    current = outcome.current[0]
    return _Lost(stored_from(current) if current is not None else None)
