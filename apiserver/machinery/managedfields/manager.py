"""Server-side apply and field ownership for one resource: the face of this package.

Pure: objects in, objects out; the time is given. Defaulting, pruning and validation are done by the caller,
who calls `update` on the defaulted object and defaults what `apply` returns. Source of the behaviour:
`k8s.io/apimachinery/pkg/util/managedfields`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.machinery.errors import bad_request
from apiserver.machinery.gvk import GroupVersion, GroupVersionKind
from apiserver.machinery.managedfields.check import check
from apiserver.machinery.managedfields.conflict import conflict_error
from apiserver.machinery.managedfields.entries import (
    Managed,
    Owned,
    Owner,
    cap_updates,
    decode,
    encode,
    is_reset,
    owner,
)
from apiserver.machinery.managedfields.fieldset import FieldSet, difference, union
from apiserver.machinery.managedfields.last_applied import (
    KUBECTL,
    last_applied,
    owned_by_client_side_apply,
    update_last_applied,
)
from apiserver.machinery.managedfields.shape import TypedError, compile_shape
from apiserver.machinery.managedfields.updater import ConflictsError, Updater
from apiserver.machinery.resource import Resource
from apiserver.machinery.schema.node import Node

Object = dict[str, Any]

BEFORE_FIRST_APPLY = "before-first-apply"
_CURRENT = Owner("current-operation", "Update")
_META_NAMES = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
STRIPPED: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {".": {}, **{f"f:{name}": {} for name in _META_NAMES}},
}
"""What nobody owns, because the server or the identity of the object says it."""

RESET_WITH_STATUS: Mapping[str, FieldSet] = {
    "": {"f:status": {}},
    "status": {"f:metadata": {}, "f:spec": {}},
}
"""What a write to each subresource cannot change, so does not own, where there is a /status."""


class FieldManager:
    """Knows the schemas of all versions of one kind. Versions are named without their group (`v1`)."""

    def __init__(
        self,
        group: str,
        kind: str,
        nodes: Mapping[str, Node],
        convert: Callable[[Object, str, str], Object],
        reset: Mapping[str, FieldSet] = RESET_WITH_STATUS,
    ) -> None:
        """`nodes` has the shape of whole objects by version; `convert` gives an object, in the first version,
        in the second one, without changing it."""
        self.group = group
        self.kind = kind
        self.reset = reset
        self._convert = convert
        shapes = {self._api_version(version): compile_shape(node) for version, node in nodes.items()}
        self._shapes = shapes
        self._updater = Updater(shapes, self._to_version)

    @classmethod
    def for_resource(cls, resource: Resource) -> FieldManager:
        """The field manager of a declared resource."""
        nodes = {version.name: version.schema.node for version in resource.versions}
        reset = RESET_WITH_STATUS if resource.status else {}
        return cls(resource.group, resource.kind, nodes, resource.convert, reset)

    def update(
        self,
        live: Object | None,
        new: Object,
        *,
        manager: str,
        version: str,
        now: str,
        operation: str = "Update",
        subresource: str = "",
    ) -> None:
        """Set `new["metadata"]["managedFields"]` for a write of `new` in place of `live` (None: a creation).

        Both are in `version`. Never fails: where ownership cannot be worked out, it is dropped and the object
        is left to validation.
        """
        api_version = self._api_version(version)
        before = self._live_or_empty(live, api_version)
        entries = before["metadata"].get("managedFields")
        managed = _managed_for_update(entries, new["metadata"], ignore_new=subresource != "")
        new["metadata"].pop("managedFields", None)
        if not managed.owners and before["metadata"].get("uid"):
            return
        identity = owner(manager, operation, api_version, subresource)
        try:
            self._track(before, new, api_version, managed, identity, now, subresource)
        except TypedError:
            return
        _write(new, managed)

    def apply(
        self,
        live: Object | None,
        patch: Object,
        *,
        manager: str,
        force: bool,
        version: str,
        now: str,
        subresource: str = "",
    ) -> Object:
        """What the live object (None: there is none) becomes when `manager` applies `patch`; both and the
        result are in `version`.

        The result is new where it differs from `live`, has managedFields, and may equal `live`. Raises 400
        for a patch that is no such object, 409 for conflicts.
        """
        api_version = self._api_version(version)
        self._check_patch(patch, api_version)
        before = self._live_or_empty(live, api_version)
        managed = _decode_live(before["metadata"].get("managedFields"))
        identity = owner(manager, "Apply", api_version, subresource)
        try:
            if not managed.owners:
                self._adopt(before, api_version, managed, now, subresource)
            merged, managed = self._apply(
                before, patch, api_version, managed, identity, subresource, now, force=force
            )
        except ConflictsError as error:
            raise conflict_error(error.conflicts) from None
        except TypedError as error:
            raise bad_request(f"failed to apply: {str(error).lstrip(': ')}") from None
        if manager == KUBECTL and last_applied(merged):
            merged = update_last_applied(merged, patch)
        merged = {**merged, "metadata": dict(merged.get("metadata") or {})}
        merged["metadata"].pop("managedFields", None)
        _write(merged, managed)
        return merged

    def _apply(
        self,
        live: Object,
        patch: Object,
        api_version: str,
        managed: Managed,
        identity: Owner,
        subresource: str,
        now: str,
        *,
        force: bool,
    ) -> tuple[Object, Managed]:
        ignored = self.reset.get(subresource, {})
        attempt = managed.copy()
        try:
            merged = self._updater.apply(live, patch, api_version, attempt, identity, ignored, force=force)
        except ConflictsError as error:
            if identity.manager != KUBECTL or not last_applied(live):
                raise
            allowed = owned_by_client_side_apply(live, api_version, self._shapes[api_version])
            left = {who: difference(fields, allowed) for who, fields in error.conflicts.items()}
            if any(left.values()):
                raise ConflictsError({who: fields for who, fields in left.items() if fields}) from None
            attempt = managed.copy()
            merged = self._updater.apply(live, patch, api_version, attempt, identity, ignored, force=True)
        _strip(attempt, identity)
        mine = attempt.owners.get(identity)
        if mine is not None and merged != live:
            attempt.owners[identity] = Owned(mine.fields, mine.api_version, now)
        return merged, attempt

    def _track(
        self,
        live: Object,
        new: Object,
        api_version: str,
        managed: Managed,
        identity: Owner,
        now: str,
        subresource: str,
    ) -> None:
        """Add the changes between two objects to what `identity` owns."""
        ignored = self.reset.get(subresource, {})
        self._updater.update(live, new, api_version, managed, _CURRENT, ignored)
        _strip(managed, _CURRENT)
        mine = managed.owners.pop(_CURRENT, None)
        if mine is not None:
            previous = managed.owners.get(identity)
            fields = union(mine.fields, previous.fields) if previous else mine.fields
            managed.owners[identity] = Owned(fields, mine.api_version, now)
        cap_updates(managed)

    def _adopt(self, live: Object, api_version: str, managed: Managed, now: str, subresource: str) -> None:
        """Give what is there before the first apply, and belongs to nobody, to an owner of its own."""
        empty = {"apiVersion": api_version, "kind": self.kind, "metadata": {}}
        identity = owner(BEFORE_FIRST_APPLY, "Update", api_version, subresource)
        self._track(empty, live, api_version, managed, identity, now, subresource)

    def _check_patch(self, patch: Object, api_version: str) -> None:
        given, kind = patch.get("apiVersion") or "", patch.get("kind") or ""
        if given != api_version or kind != self.kind:
            group_version = GroupVersion.parse(str(given))
            shown = f"{group_version.group}/{group_version.version}, Kind={kind}"
            raise bad_request(f"invalid object type: {shown}")
        metadata = patch.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        if metadata.get("managedFields") is not None:
            raise bad_request("metadata.managedFields must be nil")
        wrong = check(patch, self._shapes[api_version])
        if wrong:
            where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
            named = f"{where}; {api_version}, Kind={self.kind}"
            raise bad_request(f"failed to create typed patch object ({named}): {wrong}")

    def _live_or_empty(self, live: Object | None, api_version: str) -> Object:
        return {"apiVersion": api_version, "kind": self.kind, "metadata": {}} if live is None else live

    def _api_version(self, version: str) -> str:
        return str(GroupVersionKind(self.group, version, self.kind).group_version)

    def _to_version(self, obj: Object, api_version: str) -> Object:
        given = obj.get("apiVersion", "")
        if given == api_version:
            return obj
        source, target = GroupVersion.parse(given).version, GroupVersion.parse(api_version).version
        return self._convert(obj, source, target)


def _managed_for_update(entries: list[Object] | None, new: Object, *, ignore_new: bool) -> Managed:
    """The owners to start from: those in the written object, if it has any that can be read, else the live
    ones, so that clients who know nothing of managedFields do not erase them."""
    given = new.get("managedFields")
    if ignore_new or given is None or given == entries:
        return _decode_live(entries)
    if is_reset(given):
        return Managed()
    try:
        managed = decode(given)
    except ValueError:
        return _decode_live(entries)
    return managed if managed.owners else _decode_live(entries)


def _decode_live(entries: list[Object] | None) -> Managed:
    return decode(entries, trusted=True)


def _strip(managed: Managed, identity: Owner) -> None:
    owned = managed.owners.get(identity)
    if owned is None:
        return
    fields = difference(owned.fields, STRIPPED)
    if fields:
        managed.owners[identity] = Owned(fields, owned.api_version, owned.time)
    else:
        del managed.owners[identity]


def _write(obj: Object, managed: Managed) -> None:
    """Put the entries into the object."""
    if managed.owners:
        obj["metadata"]["managedFields"] = encode(managed)
