"""delete: one object, at once, or when its finalizers have done their work."""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource
from apiserver.machinery.options import DeleteOptions, WriteOptions
from apiserver.registry import metadata
from apiserver.registry.hooks import Attributes, Caller
from apiserver.registry.store import ResourceStore, Stored, stored_from
from apiserver.registry.verbs.update import MAX_TRIES


@dataclass(frozen=True, slots=True)
class Deleted:
    """The object as it was last; `gone` is False while finalizers hold it."""

    stored: Stored
    gone: bool


async def delete(
    store: ResourceStore, version: str, namespace: str, name: str, options: DeleteOptions, caller: Caller
) -> Deleted:
    """Delete an object. Raises 403, 404, 409, 503, 504."""
    key = store.key(namespace, name)
    live = await store.latest(key)
    for _ in range(MAX_TRIES):
        if live is None:
            raise errors.not_found(store.resource.group_resource, name)
        _check_preconditions(store, name, live, options)
        await _admit(store, version, namespace, name, live, options, caller)
        marked = _mark(store, live, options, caller)
        if marked is live:
            return Deleted(live, gone=False)
        if options.dry_run:
            return Deleted(marked or live, gone=marked is None)
        if marked is None:
            outcome = await store.remove(key, live.revision)
        else:
            outcome = await store.commit(key, live.revision, marked.raw)
        if outcome.succeeded:
            if marked is None:
                return Deleted(live, gone=True)
            return Deleted(store.written(marked.raw, outcome.revision), gone=False)
        current = outcome.current[0]
        live = stored_from(current) if current is not None else None
    raise errors.conflict(store.resource.group_resource, name, errors.STALE)


def _mark(store: ResourceStore, live: Stored, options: DeleteOptions, caller: Caller) -> Stored | None:
    """The object as it has to wait for its finalizers; None when nothing holds it;
    unchanged when it waits already."""
    obj = live.decode()
    finalizers = metadata.deletion_finalizers(obj, options.propagation_policy, options.orphan_dependents)
    if not finalizers:
        return None
    obj["metadata"]["finalizers"] = finalizers
    metadata.mark_deleting(obj, caller)
    if obj == live.obj:
        return live
    return store.written(store.encode(obj), live.revision)


def _check_preconditions(store: ResourceStore, name: str, live: Stored, options: DeleteOptions) -> None:
    meta, wanted = live.obj["metadata"], options.preconditions
    resource = store.resource
    subject = GroupResource(resource.group, resource.kind)
    if wanted.uid is not None and wanted.uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(subject, name, why)
    if wanted.resource_version is not None and wanted.resource_version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match "
            f"the ResourceVersion in record ({meta['resourceVersion']}). The object might have been modified"
        )
        raise errors.conflict(subject, name, why)


async def _admit(
    store: ResourceStore,
    version: str,
    namespace: str,
    name: str,
    live: Stored,
    options: DeleteOptions,
    caller: Caller,
) -> None:
    old = store.resource.convert(live.obj, store.resource.storage_version, version)
    attributes = Attributes(
        "DELETE",
        store.resource,
        version,
        namespace,
        name,
        "",
        None,
        old,
        WriteOptions(dry_run=options.dry_run),
        caller.user,
    )
    await store.admission.admit(attributes)
    await store.admission.validate(attributes)
