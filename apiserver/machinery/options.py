"""The options of a request, read from its query parameters or body: `metav1.GetOptions`, `ListOptions`, …
as dataclasses.

How parameters turn into values, and the texts when they do not, follow `k8s.io/apimachinery`
(conversion of string slices, `metav1/validation`, `internalversion/validation`).
Knows nothing of HTTP beyond a mapping of strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.machinery import errors
from apiserver.machinery.field import FieldError, Path, forbidden, invalid, not_supported, required, too_long

Query = Mapping[str, Sequence[str]]

META_GROUP = "meta.k8s.io"
MAX_FIELD_MANAGER = 128
FIELD_VALIDATION = ("", "Ignore", "Strict", "Warn")
PROPAGATION = ("Foreground", "Background", "Orphan")
EXACT = "Exact"
NOT_OLDER_THAN = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class GetOptions:
    """`resource_version` is empty for the latest state, `0` for any, else the least acceptable revision."""

    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What to list or watch, and as of when. `timeout_seconds` None means that the server chooses."""

    label_selector: str = ""
    field_selector: str = ""
    watch: bool = False
    allow_watch_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_token: str = ""
    send_initial_events: bool | None = None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of create, update and patch. `force` is for apply alone; None means that it was not given."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool | None = None


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must hold of the object for a deletion to go ahead; None: no matter."""

    uid: str | None = None
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of delete and deletecollection. As for custom resources, `grace_period_seconds` is read and has
    no effect: what nothing holds is gone at once."""

    dry_run: bool = False
    grace_period_seconds: int | None = None
    preconditions: Preconditions = Preconditions()
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None


def get_options(query: Query) -> GetOptions:
    """Read GetOptions. Raises 400."""
    if "export" in query and _boolean(query["export"]):
        raise errors.bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    return GetOptions(resource_version=_string(query, "resourceVersion"))


def list_options(query: Query, *, force_watch: bool = False) -> ListOptions:
    """Read ListOptions; `force_watch` for paths that mean a watch whatever the query says.

    Raises 400 for values that cannot be read and 422 for combinations that make no sense.
    """
    watch = force_watch or _boolean(query.get("watch", ()))
    initial_events = _optional_boolean(query, "sendInitialEvents")
    match = _string(query, "resourceVersionMatch")
    resource_version = _string(query, "resourceVersion")
    bookmarks = _boolean(query.get("allowWatchBookmarks", ()))
    if watch and initial_events is None and not match and resource_version in ("", "0"):
        # The old form of a streaming list; upstream defaults it the same way
        # (internalversion.SetListOptionsDefaults).
        initial_events, match = True, NOT_OLDER_THAN
    options = ListOptions(
        label_selector=_string(query, "labelSelector"),
        field_selector=_string(query, "fieldSelector"),
        watch=watch,
        allow_watch_bookmarks=bookmarks,
        resource_version=resource_version,
        resource_version_match=match,
        timeout_seconds=_optional_integer(query, "timeoutSeconds"),
        limit=_optional_integer(query, "limit") or 0,
        continue_token=_string(query, "continue"),
        send_initial_events=initial_events,
    )
    _reject("ListOptions", _watch_errors(options) if watch else _list_errors(options))
    return options


def _list_errors(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    match, path = options.resource_version_match, Path("resourceVersionMatch")
    if match:
        if not options.resource_version:
            found.append(
                forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided")
            )
        if options.continue_token:
            found.append(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in (EXACT, NOT_OLDER_THAN):
            found.append(not_supported(path, match, [EXACT, NOT_OLDER_THAN, ""]))
        if match == EXACT and options.resource_version == "0":
            found.append(forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        found.append(forbidden(Path("sendInitialEvents"), "sendInitialEvents is forbidden for list"))
    return found


def _watch_errors(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    match, path = options.resource_version_match, Path("resourceVersionMatch")
    if options.send_initial_events is not None and match != NOT_OLDER_THAN:
        detail = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
        found.append(forbidden(path, detail))
    if match:
        if options.send_initial_events is None:
            detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            found.append(forbidden(path, detail))
        if match != NOT_OLDER_THAN:
            found.append(not_supported(path, match, [NOT_OLDER_THAN]))
        if options.continue_token:
            found.append(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    return found


def create_options(query: Query) -> WriteOptions:
    """Read CreateOptions. Raises 400 or 422."""
    return _write_options(query, "CreateOptions")


def update_options(query: Query) -> WriteOptions:
    """Read UpdateOptions. Raises 400 or 422."""
    return _write_options(query, "UpdateOptions")


def patch_options(query: Query, *, apply: bool) -> WriteOptions:
    """Read PatchOptions; `apply` says that the patch is a server-side apply. Raises 400 or 422."""
    force = _optional_boolean(query, "force")
    found: list[FieldError] = []
    if apply and not _string(query, "fieldManager"):
        found.append(required(Path("fieldManager"), "is required for apply patch"))
    if not apply and force is not None:
        found.append(forbidden(Path("force"), "may not be specified for non-apply patch"))
    return _write_options(query, "PatchOptions", force=force, found=found)


def _write_options(
    query: Query, kind: str, *, force: bool | None = None, found: Sequence[FieldError] = ()
) -> WriteOptions:
    dry_run = tuple(query.get("dryRun", ()))
    manager = _string(query, "fieldManager")
    validation = _string(query, "fieldValidation")
    problems = [*found, *field_manager_errors(manager, Path("fieldManager")), *_dry_run_errors(dry_run)]
    if validation not in FIELD_VALIDATION:
        problems.append(not_supported(Path("fieldValidation"), validation, list(FIELD_VALIDATION)))
    _reject(kind, problems)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", force)


def field_manager_errors(manager: str, path: Path) -> list[FieldError]:
    """What is wrong with the name of a field manager."""
    found: list[FieldError] = []
    if len(manager.encode()) > MAX_FIELD_MANAGER:
        found.append(too_long(path, MAX_FIELD_MANAGER))
    offset = 0
    for character in manager:
        if not character.isprintable():
            shown = f"U+{ord(character):04X}"
            found.append(invalid(path, manager, f"invalid character {shown} (at position {offset})"))
        offset += len(character.encode())
    return found


def delete_options(query: Query) -> DeleteOptions:
    """Read DeleteOptions from the query, as clients without a body send them. Raises 400 or 422."""
    grace = _optional_integer(query, "gracePeriodSeconds")
    orphan = _optional_boolean(query, "orphanDependents")
    policy = _string(query, "propagationPolicy") if "propagationPolicy" in query else None
    return _checked_delete(tuple(query.get("dryRun", ())), grace, Preconditions(), orphan, policy)


def delete_options_from_body(body: Any) -> DeleteOptions:
    """Read DeleteOptions from a decoded body. Raises 400 or 422."""
    if body is None:
        body = {}
    if not isinstance(body, dict):
        kind = _JSON_NAMES.get(type(body), "value")
        raise errors.bad_request(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into {_TYPE_META}"
        )
    kind = body.get("kind", "DeleteOptions")
    if kind != "DeleteOptions":
        version = body.get("apiVersion", "")
        raise errors.bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme')
    preconditions = _typed(body, "preconditions", dict) or {}
    dry_run = _typed(body, "dryRun", list) or ()
    return _checked_delete(
        tuple(dry_run),
        _typed(body, "gracePeriodSeconds", int),
        Preconditions(_typed(preconditions, "uid", str), _typed(preconditions, "resourceVersion", str)),
        _typed(body, "orphanDependents", bool),
        _typed(body, "propagationPolicy", str),
    )


def _checked_delete(
    dry_run: tuple[str, ...],
    grace: int | None,
    preconditions: Preconditions,
    orphan: bool | None,
    policy: str | None,
) -> DeleteOptions:
    found: list[FieldError] = []
    path = Path("propagationPolicy")
    if orphan is not None and policy is not None:
        found.append(invalid(path, policy, "orphanDependents and deletionPropagation cannot be both set"))
    if policy is not None and policy not in PROPAGATION:
        found.append(not_supported(path, policy, [*PROPAGATION, "nil"]))
    found.extend(_dry_run_errors(dry_run))
    _reject("DeleteOptions", found)
    return DeleteOptions(bool(dry_run), grace, preconditions, orphan, policy)


def _dry_run_errors(dry_run: tuple[str, ...]) -> list[FieldError]:
    if all(value == "All" for value in dry_run):
        return []
    return [not_supported(Path("dryRun"), list(dry_run), ["All"])]


def _reject(kind: str, found: Sequence[FieldError]) -> None:
    if found:
        raise errors.invalid(kind, META_GROUP, "", found)


def _string(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _boolean(values: Sequence[str]) -> bool:
    """Only absence, `false` and `0` are false: so upstream converts, to let `?watch` mean `?watch=true`."""
    return bool(values) and values[0].lower() not in ("false", "0")


def _optional_boolean(query: Query, name: str) -> bool | None:
    return _boolean(query[name]) if name in query else None


def _optional_integer(query: Query, name: str) -> int | None:
    values = query.get(name)
    if not values:
        return None
    text = values[0]
    digits = text[1:] if text[:1] in "+-" else text
    if not digits.isascii() or not digits.isdigit():
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    number = int(text) if len(digits) <= 20 else 1 << 64
    if not -(1 << 63) <= number < 1 << 63:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


_TYPE_META = (
    r'Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)
_GO_NAMES = {int: "int64", str: "string", bool: "bool", dict: "v1.Preconditions", list: "[]string"}
_JSON_NAMES = {bool: "bool", str: "string", list: "array", dict: "object", int: "number", float: "number"}


def _typed(body: dict[str, Any], name: str, kind: type) -> Any:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        actual = _JSON_NAMES.get(type(value), "value")
        where = f"Go struct field DeleteOptions.{name} of type {_GO_NAMES[kind]}"
        raise errors.bad_request(f"json: cannot unmarshal {actual} into {where}")
    return value
