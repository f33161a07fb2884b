"""The entries of `metadata.managedFields`: read, written, sorted, and kept from growing without bound.

Semantics: `managedfields.go` and `capmanagers.go` of k8s.io/apimachinery.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from apiserver.machinery.codec.gotext import quote
from apiserver.machinery.managedfields.fieldset import FieldSet, ordered, parse_fields, union

MAX_UPDATE_MANAGERS = 10
ANCIENT_CHANGES = "ancient-changes"
Json = dict[str, Any]


class Owner(NamedTuple):
    """Who owns fields. The API version tells only updaters apart: an applier has one entry."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        """As conflicts name the owner."""
        text = quote(self.manager)
        if self.subresource:
            text += f" with subresource {quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


@dataclass(frozen=True, slots=True)
class Owned:
    """What an owner owns, in the version in which it was written. `time` is empty when it is not known."""

    fields: FieldSet
    api_version: str
    time: str = ""
    entry: Json | None = None
    """The entry that this was read from, as long as nothing has changed."""


@dataclass(slots=True)
class Managed:
    """All owners of an object."""

    owners: dict[Owner, Owned] = field(default_factory=dict)

    def copy(self) -> Managed:
        """Another list of the same owners."""
        return Managed(dict(self.owners))


def owner(manager: str, operation: str, api_version: str, subresource: str) -> Owner:
    """The identity of a manager."""
    version = api_version if operation == "Update" else ""
    return Owner(manager or "unknown", operation, version, subresource)


def is_reset(entries: list[Json] | None) -> bool:
    """Whether a client asks to forget all owners: an empty list, or one with an empty entry."""
    return entries is not None and (not entries or entries == [{}])


def decode(entries: list[Json] | None, *, trusted: bool = False) -> Managed:
    """Read the entries; those that we wrote are `trusted`. Raises ValueError with upstream's text."""
    managed = Managed()
    for index, entry in enumerate(entries or ()):
        operation, api_version = entry.get("operation", ""), entry.get("apiVersion", "")
        if not trusted:
            _check(index, entry)
        fields = entry.get("fieldsV1") or {}
        identity = owner(entry.get("manager", ""), operation, api_version, entry.get("subresource", ""))
        if not entry.get("manager"):
            identity = identity._replace(manager="")
        kept = fields if trusted else parse_fields(fields)
        managed.owners[identity] = Owned(
            kept, api_version, entry.get("time") or "", entry if trusted else None
        )
    return managed


def _check(index: int, entry: Json) -> None:
    if entry.get("operation") not in ("Apply", "Update"):
        raise ValueError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise ValueError("apiVersion must not be empty")
    kind = entry.get("fieldsType", "")
    if kind != "FieldsV1":
        what = f'invalid fieldsType "{kind}"' if kind else "missing fieldsType"
        raise ValueError(f"{what} in managed fields entry {index}")


def encode(managed: Managed) -> list[Json]:
    """The entries in upstream's order: applies first, then by time and name."""
    entries = [_entry(identity, owned) for identity, owned in managed.owners.items()]
    entries.sort(key=_order)
    return entries


def _entry(identity: Owner, owned: Owned) -> Json:
    if owned.entry is not None:
        return owned.entry
    entry: Json = {
        "apiVersion": owned.api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": ordered(owned.fields),
        "manager": identity.manager,
        "operation": identity.operation,
    }
    if not identity.manager:
        del entry["manager"]
    if identity.subresource:
        entry["subresource"] = identity.subresource
    if owned.time:
        entry["time"] = owned.time
    return entry


def _order(entry: Json) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(entry.get(name, "") for name in names)


def cap_updates(managed: Managed) -> None:
    """Merge the oldest owners by update into one entry a version, until there are at most ten."""
    updaters = [identity for identity in managed.owners if identity.operation == "Update"]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return
    updaters.sort(key=lambda identity: (managed.owners[identity].time, identity))
    first: dict[str, Owner] = {}
    for identity in updaters:
        if excess <= 0:
            return
        owned = managed.owners[identity]
        if owned.api_version not in first:
            first[owned.api_version] = identity
            continue
        bucket = Owner(ANCIENT_CHANGES, "Update", owned.api_version)
        if bucket not in managed.owners or identity == bucket:
            older = managed.owners.pop(first[owned.api_version])
        else:
            older = managed.owners[bucket]
        managed.owners.pop(identity)
        managed.owners[bucket] = Owned(union(owned.fields, older.fields), owned.api_version, owned.time)
        first[owned.api_version] = bucket
        excess -= 1
