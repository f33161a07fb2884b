"""create: a new object, if none of that name is there."""

from __future__ import annotations

from typing import Any

from apiserver.machinery import errors
from apiserver.machinery.objectmeta import generate_name
from apiserver.machinery.options import WriteOptions
from apiserver.registry import checks, metadata
from apiserver.registry.hooks import Attributes, Caller
from apiserver.registry.store import ResourceStore, Stored

Object = dict[str, Any]

NAME_TRIES = 8
"""How often a generated name is tried anew, as upstream does."""


async def create(
    store: ResourceStore, version: str, namespace: str, obj: Object, options: WriteOptions, caller: Caller
) -> Stored:
    """Store `obj`, which is of `version`, pruned and defaulted.
    Raises 400, 403, 404, 409, 413, 422, 503, 504."""
    metadata.wipe_system_fields(obj)
    metadata.ensure_namespace(store.resource, obj, namespace)
    metadata.dedup_owner_references(obj, caller)
    store.track(None, obj, version, "", options, caller)
    return await admit_and_store(store, version, obj, options, caller)


async def admit_and_store(
    store: ResourceStore, version: str, obj: Object, options: WriteOptions, caller: Caller
) -> Stored:
    """The rest of a creation, for objects that have their managed fields already (apply comes in here)."""
    resource = store.resource
    meta = obj["metadata"]
    attributes = Attributes(
        "CREATE",
        resource,
        version,
        meta.get("namespace", ""),
        meta.get("name", ""),
        "",
        obj,
        None,
        options,
        caller.user,
    )
    await store.admission.admit(attributes)
    if meta.get("resourceVersion"):
        raise errors.bad_request("resourceVersion should not be set on objects to be created")
    base = "" if meta.get("name") else meta.get("generateName") or ""
    for attempt in range(NAME_TRIES):
        if base:
            meta["name"] = generate_name(base)
        metadata.fill_system_fields(obj, caller)
        try:
            return await _store(store, version, obj, options, caller, attributes)
        except errors.APIError as error:
            if not base or error.reason != "AlreadyExists":
                raise
            if attempt == NAME_TRIES - 1:
                raise _no_free_name(store, meta["name"]) from error
    raise AssertionError("unreachable: the last try returns or raises")


async def _store(
    store: ResourceStore,
    version: str,
    obj: Object,
    options: WriteOptions,
    caller: Caller,
    attributes: Attributes,
) -> Stored:
    stored = prepare(store, version, obj, caller)
    await store.admission.validate(attributes)
    meta = stored["metadata"]
    key = store.key(meta.get("namespace", ""), meta["name"])
    raw = store.encode(stored)
    if options.dry_run:
        if await store.latest(key) is not None:
            raise errors.already_exists(store.resource.group_resource, meta["name"])
        return Stored(stored, 0, raw, raw)
    outcome = await store.commit(key, 0, raw)
    if not outcome.succeeded:
        raise errors.already_exists(store.resource.group_resource, meta["name"])
    return store.written(raw, outcome.revision)


def prepare(store: ResourceStore, version: str, obj: Object, caller: Caller) -> Object:
    """Run strategy and rules over a new object that has its system fields;
    gives it in the storage version."""
    resource = store.resource
    if resource.status:
        obj.pop("status", None)
    stored = resource.convert(obj, version, resource.storage_version)
    resource.strategy.prepare_for_create(stored)
    checks.check_create(resource, version, obj, stored)
    checks.warn_of_finalizers(obj, None, caller)
    for sentence in resource.strategy.warnings(stored):
        caller.warn(sentence)
    return stored


def _no_free_name(store: ResourceStore, name: str) -> errors.APIError:
    resource = store.resource.group_resource
    why = "the server was not able to generate a unique name for the object"
    message = f'{resource} "{name}" already exists, {why}'
    return errors.APIError(
        409,
        "AlreadyExists",
        message,
        name=name,
        group=resource.group,
        kind=resource.resource,
        retry_after_seconds=1,
    )
