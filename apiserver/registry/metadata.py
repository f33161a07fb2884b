"""What the server itself writes into metadata, and what it refuses there, whatever the resource.

The order and the texts are those of `k8s.io/apiserver/pkg/registry/rest` (create.go, update.go, meta.go).
"""

from __future__ import annotations

import uuid
from typing import Any

from apiserver.machinery import errors
from apiserver.machinery.resource import Resource
from apiserver.registry.hooks import Caller

Object = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_SYSTEM_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_NOT_COUNTED = frozenset({"metadata", "status"})
_OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"
_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def wipe_system_fields(obj: Object) -> None:
    """Drop what a client may not decide about a new object."""
    metadata = obj["metadata"]
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)


def fill_system_fields(obj: Object, caller: Caller) -> None:
    """Give a new object its identity."""
    metadata = obj["metadata"]
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = caller.timestamp()
    metadata["generation"] = 1


def ensure_namespace(resource: Resource, obj: Object, namespace: str) -> None:
    """Take the namespace from the URL, and refuse another one in the object. Raises 400."""
    metadata = obj["metadata"]
    given = metadata.get("namespace") or ""
    if not resource.namespaced:
        if given:
            raise errors.bad_request(_OTHER_NAMESPACE)
        metadata.pop("namespace", None)
    elif not given:
        metadata["namespace"] = namespace
    elif given != namespace:
        raise errors.bad_request(_OTHER_NAMESPACE)


def check_name(obj: Object, name: str) -> None:
    """Refuse an object whose name is not the one of the URL. Raises 400."""
    given = obj["metadata"].get("name") or ""
    if not given:
        raise errors.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if given != name:
        raise errors.bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )


def dedup_owner_references(obj: Object, caller: Caller) -> None:
    """Drop owner references that are there twice, and say so."""
    references = obj["metadata"].get("ownerReferences")
    if not references or len(references) < 2:
        return
    kept: list[Any] = []
    doubled: list[str] = []
    for reference in references:
        if reference in kept:
            doubled.append(reference.get("uid", ""))
        else:
            kept.append(reference)
    if doubled:
        caller.warn(_DUPLICATE_OWNERS.format(", ".join(doubled)))
        obj["metadata"]["ownerReferences"] = kept


def carry_over(obj: Object, old: Object) -> None:
    """Keep what an update cannot change although clients may leave it out."""
    metadata, before = obj["metadata"], old["metadata"]
    if not metadata.get("uid"):
        metadata["uid"] = before["uid"]
    metadata["creationTimestamp"] = before["creationTimestamp"]
    metadata.pop("selfLink", None)
    _restore(metadata, before, "generation")
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


def _restore(metadata: Object, before: Object, name: str) -> None:
    if name in before:
        metadata[name] = before[name]
    else:
        metadata.pop(name, None)


def bump_generation(obj: Object, old: Object) -> None:
    """Count a change of anything but metadata and status."""
    if any(obj.get(key) != old.get(key) for key in obj.keys() | old.keys() if key not in _NOT_COUNTED):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def same_but_for_managed_times(obj: Object, old: Object) -> bool:
    """Whether an update changes nothing but the times and order of managedFields entries, if that."""
    if obj.keys() != old.keys():
        return False
    if any(obj[key] != old[key] for key in obj if key != "metadata"):
        return False
    metadata, before = obj["metadata"], old["metadata"]
    ignored = {"managedFields", "resourceVersion"}
    if any(metadata.get(key) != before.get(key) for key in (metadata.keys() | before.keys()) - ignored):
        return False
    return _without_times(metadata.get("managedFields")) == _without_times(before.get("managedFields"))


def _without_times(entries: list[Object] | None) -> list[Object]:
    return [{key: value for key, value in entry.items() if key != "time"} for entry in entries or ()]


def deletion_finalizers(obj: Object, policy: str | None, orphan: bool | None) -> list[str]:
    """The finalizers that a deletion with this propagation leaves the object with."""
    finalizers: list[str] = obj["metadata"].get("finalizers") or []
    kept = [name for name in finalizers if name not in (FOREGROUND, ORPHAN)]
    wanted = _collector(finalizers, policy, orphan)
    return [*kept, wanted] if wanted else kept


def _collector(finalizers: list[str], policy: str | None, orphan: bool | None) -> str:
    if orphan is not None:
        return ORPHAN if orphan else ""
    if policy is not None:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(policy, "")
    return next((name for name in finalizers if name in (FOREGROUND, ORPHAN)), "")


def mark_deleting(obj: Object, caller: Caller) -> None:
    """Set the deletion time-stamp; the object goes once its finalizers are gone."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = caller.timestamp()
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1
    metadata["deletionGracePeriodSeconds"] = 0


def is_finished(obj: Object) -> bool:
    """Whether nothing holds a deleted object any more."""
    metadata = obj["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )
