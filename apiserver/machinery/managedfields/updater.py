"""Who owns what after a write, and what an apply makes of the live object.

The algorithm is `merge.Updater` of sigs.k8s.io/structured-merge-diff: compare old and new in the version of
each owner, take from owners what has changed, prune what an applier no longer names and nobody else owns.
Objects are in versions named by their apiVersion; how to convert them is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.machinery.managedfields.compare import Comparison, compare
from apiserver.machinery.managedfields.entries import Managed, Owned, Owner
from apiserver.machinery.managedfields.extract import named_fields
from apiserver.machinery.managedfields.fieldset import (
    FieldSet,
    difference,
    intersection,
    union,
    without_trees,
)
from apiserver.machinery.managedfields.merge import merge
from apiserver.machinery.managedfields.reconcile import reconcile
from apiserver.machinery.managedfields.remove import remove, with_structs
from apiserver.machinery.managedfields.shape import Shape

Object = dict[str, Any]
Convert = Callable[[Object, str], Object]
"""From an object and the apiVersion wanted to the object in that version, without changing the given one."""


class ConflictsError(Exception):
    """An apply without force would change what these owners own."""

    def __init__(self, conflicts: dict[Owner, FieldSet]) -> None:
        super().__init__("conflicts")
        self.conflicts = conflicts


class Updater:
    """The rules of ownership for one resource. `shapes` has every known version, by apiVersion."""

    def __init__(self, shapes: Mapping[str, Shape], convert: Convert) -> None:
        self.shapes = shapes
        self.convert = convert

    def update(
        self, live: Object, new: Object, version: str, managed: Managed, me: Owner, ignored: FieldSet
    ) -> None:
        """Note in `managed` that `me` has written `new` in place of `live`; what changed is `me`'s now.

        Raises TypedError.
        """
        self._reconcile(managed)
        changes = self._take(live, new, version, managed, me, ignored, force=True)
        mine = without_trees(changes.changed, ignored)
        if mine:
            managed.owners[me] = Owned(mine, version)
        else:
            managed.owners.pop(me, None)

    def apply(
        self,
        live: Object,
        config: Object,
        version: str,
        managed: Managed,
        me: Owner,
        ignored: FieldSet,
        *,
        force: bool,
    ) -> Object:
        """The live object with what `me` applies; `managed` is brought up to date.
        Raises ConflictsError, TypedError."""
        self._reconcile(managed)
        shape = self.shapes[version]
        merged = merge(live, config, shape)
        last = managed.owners.get(me)
        managed.owners[me] = Owned(without_trees(named_fields(config, shape), ignored), version)
        merged = self._prune(merged, managed, me, last)
        self._take(live, merged, version, managed, me, ignored, force=force)
        if last is not None and me in managed.owners:
            mine = managed.owners[me]
            managed.owners[me] = Owned(mine.fields, mine.api_version, last.time)
        return merged

    def _reconcile(self, managed: Managed) -> None:
        """Forget owners in versions that are no more, and fit the others to the present schemas."""
        for owner, owned in list(managed.owners.items()):
            shape = self.shapes.get(owned.api_version)
            if shape is None:
                del managed.owners[owner]
                continue
            fields = reconcile(owned.fields, shape)
            if fields is not owned.fields:
                managed.owners[owner] = Owned(fields, owned.api_version, owned.time)

    def _take(
        self,
        old: Object,
        new: Object,
        version: str,
        managed: Managed,
        me: Owner,
        ignored: FieldSet,
        *,
        force: bool,
    ) -> Comparison:
        """Take from everybody but `me` what has changed. Raises ConflictsError unless forced."""
        changes = {version: compare(old, new, self.shapes[version]).without(ignored)}
        conflicts: dict[Owner, FieldSet] = {}
        for owner, owned in managed.owners.items():
            if owner == me:
                continue
            theirs = owned.api_version
            if theirs not in changes:
                before, after = self.convert(old, theirs), self.convert(new, theirs)
                changes[theirs] = compare(before, after, self.shapes[theirs]).without(ignored)
            taken = intersection(owned.fields, changes[theirs].changed)
            if taken:
                conflicts[owner] = taken
        if conflicts and not force:
            raise ConflictsError(conflicts)
        for owner, owned in list(managed.owners.items()):
            fields = owned.fields
            if owner != me:
                fields = difference(fields, conflicts.get(owner, {}))
                fields = difference(fields, changes[owned.api_version].removed)
            if not fields:
                del managed.owners[owner]
            elif fields is not owned.fields:
                managed.owners[owner] = Owned(fields, owned.api_version, owned.time)
        return changes[version]

    def _prune(self, merged: Object, managed: Managed, me: Owner, last: Owned | None) -> Object:
        """Remove what `me` applied last time, does not apply now, and nobody else owns."""
        if last is None or last.api_version not in self.shapes:
            return merged
        shape = self.shapes[last.api_version]
        applied = with_structs(last.fields, shape)
        mine = managed.owners[me]
        if mine.api_version == last.api_version and not difference(applied, with_structs(mine.fields, shape)):
            return merged
        whole = self.convert(merged, last.api_version)
        pruned = remove(whole, applied, shape)
        pruned = self._add_back_owned(whole, pruned, last.api_version, managed)
        pruned = self._add_back_dangling(whole, pruned, last.api_version, applied)
        return self.convert(pruned, mine.api_version)

    def _add_back_owned(self, merged: Object, pruned: Object, version: str, managed: Managed) -> Object:
        """Without what somebody still owns, in whatever version; the version of the pruning goes first."""
        by_version: dict[str, FieldSet] = {version: {}}
        for owned in managed.owners.values():
            by_version[owned.api_version] = union(by_version.get(owned.api_version, {}), owned.fields)
        for theirs, owned_fields in by_version.items():
            shape = self.shapes[theirs]
            merged, pruned = self.convert(merged, theirs), self.convert(pruned, theirs)
            there = with_structs(named_fields(merged, shape), shape)
            kept = union(with_structs(named_fields(pruned, shape), shape), with_structs(owned_fields, shape))
            pruned = remove(merged, difference(there, kept), shape)
        return pruned

    def _add_back_dangling(self, merged: Object, pruned: Object, version: str, applied: FieldSet) -> Object:
        """Without what went along with something that `me` had applied, but was not applied by `me`."""
        shape = self.shapes[version]
        kept = with_structs(named_fields(self.convert(pruned, version), shape), shape)
        there = with_structs(named_fields(merged, shape), shape)
        return remove(merged, intersection(difference(there, kept), applied), shape)
