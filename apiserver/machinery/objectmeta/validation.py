"""Which metadata is valid, and what of it may change.

Rules, order and texts are those of `ValidateObjectMetaAccessor[Update]` in k8s.io/apimachinery. Expects
metadata that has been coerced: every field has its type.
"""

from __future__ import annotations

from typing import Any

from apiserver.machinery.field import FieldError, Path, forbidden, invalid, required, too_long
from apiserver.machinery.gotext import Struct, quote
from apiserver.machinery.objectmeta.names import NameCheck, dns_label, dns_subdomain, label_key, label_value

Metadata = dict[str, Any]

MAX_ANNOTATION_BYTES = 256 * 1024
MAX_MANAGER_BYTES = 128
MAX_SUBRESOURCE_BYTES = 256
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_STANDARD_FINALIZERS = frozenset((ORPHAN, FOREGROUND, "kubernetes"))
_IMMUTABLE = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)
_ROOT = Path("metadata")


def validate_create(
    metadata: Metadata, *, namespaced: bool = True, name_check: NameCheck = dns_subdomain, path: Path = _ROOT
) -> list[FieldError]:
    """The errors of the metadata of any object; names have been generated already."""
    errors: list[FieldError] = []
    base, name = metadata.get("generateName", ""), metadata.get("name", "")
    if base:
        errors += [invalid(path.child("generateName"), base, why) for why in name_check(base, True)]
    if name:
        errors += [invalid(path.child("name"), name, why) for why in name_check(name, False)]
    else:
        errors.append(required(path.child("name"), "name or generateName is required"))
    errors += _namespace(metadata.get("namespace", ""), namespaced, path.child("namespace"))
    if metadata.get("generation", 0) < 0:
        why = "must be greater than or equal to 0"
        errors.append(invalid(path.child("generation"), metadata["generation"], why))
    errors += validate_labels(metadata.get("labels", {}), path.child("labels"))
    errors += validate_annotations(metadata.get("annotations", {}), path.child("annotations"))
    errors += _owners(metadata.get("ownerReferences", []), path.child("ownerReferences"))
    errors += _finalizers(metadata.get("finalizers", []), path.child("finalizers"))
    errors += _managed_fields(metadata.get("managedFields", []), path.child("managedFields"))
    return errors


def validate_update(metadata: Metadata, old: Metadata, *, path: Path = _ROOT) -> list[FieldError]:
    """The errors of a change of metadata. Upstream runs this beside `validate_create`, so does the caller."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        extra = sorted(set(metadata.get("finalizers", ())) - set(old.get("finalizers", ())))
        if extra:
            listed = ", ".join(map(quote, extra))
            why = "no new finalizers can be added if the object is being deleted, found new finalizers"
            errors.append(forbidden(path.child("finalizers"), f"{why} []string{{{listed}}}"))
    if not metadata.get("resourceVersion"):
        errors.append(invalid(path.child("resourceVersion"), "", "must be specified for an update"))
    if metadata.get("generation", 0) < old.get("generation", 0):
        given = metadata.get("generation", 0)
        errors.append(invalid(path.child("generation"), given, "must not be decremented"))
    for name, empty in _IMMUTABLE:
        given = metadata.get(name, empty)
        if given != old.get(name, empty):
            errors.append(invalid(path.child(name), given, "field is immutable"))
    errors += validate_labels(metadata.get("labels", {}), path.child("labels"))
    errors += validate_annotations(metadata.get("annotations", {}), path.child("annotations"))
    errors += _owners(metadata.get("ownerReferences", []), path.child("ownerReferences"))
    errors += _managed_fields(metadata.get("managedFields", []), path.child("managedFields"))
    return errors


def validate_labels(labels: dict[str, str], path: Path) -> list[FieldError]:
    """The errors of labels."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [invalid(path, key, why) for why in label_key(key)]
        errors += [invalid(path, value, why) for why in label_value(value)]
    return errors


def validate_annotations(annotations: dict[str, str], path: Path) -> list[FieldError]:
    """The errors of annotations; their size is that of all keys and values in UTF-8."""
    errors: list[FieldError] = []
    size = 0
    for key, value in annotations.items():
        errors += [invalid(path, key, why) for why in label_key(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > MAX_ANNOTATION_BYTES:
        errors.append(too_long(path, MAX_ANNOTATION_BYTES))
    return errors


def validate_manager(manager: str, path: Path) -> list[FieldError]:
    """The errors of a field manager's name."""
    errors: list[FieldError] = []
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        errors.append(too_long(path, MAX_MANAGER_BYTES))
    if manager.isprintable():
        return errors
    position = 0
    for char in manager:
        if not char.isprintable():
            shown = f"U+{ord(char):04X}"
            errors.append(invalid(path, manager, f"invalid character {shown} (at position {position})"))
        position += len(char.encode())
    return errors


def finalizer_warnings(name: str) -> list[str]:
    """Advice on a finalizer name, as custom resources get it."""
    where = f"metadata.finalizers: {quote(name)}"
    warnings = [f"{where}: {why}" for why in label_key(name)]
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        more = " including a path (/)" if "." in name else ""
        conflicts = "to avoid accidental conflicts with other finalizer writers"
        warnings.append(f"{where}: prefer a domain-qualified finalizer name{more} {conflicts}")
    return warnings


def _namespace(namespace: str, namespaced: bool, path: Path) -> list[FieldError]:
    if not namespaced:
        return [forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(path)]
    return [invalid(path, namespace, why) for why in dns_label(namespace)]


def _owners(references: list[dict[str, Any]], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for reference in references:
        errors += _owner(reference, path)
        if not reference.get("controller"):
            continue
        current = f"{reference.get('kind', '')}/{reference.get('name', '')}"
        if controller:
            rule = "Only one reference can have Controller set to true."
            found = f'Found "true" in references for {controller} and {current}'
            errors.append(invalid(path, [_as_struct(item) for item in references], f"{rule} {found}"))
        else:
            controller = current
    return errors


def _owner(reference: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    given = reference.get("apiVersion", "")
    version = given.rpartition("/")[2]
    if not version or given.count("/") > 1:
        errors.append(invalid(path.child("apiVersion"), given, "version must not be empty"))
    errors += [
        invalid(path.child(name), "", "must not be empty")
        for name in ("kind", "name", "uid")
        if not reference.get(name)
    ]
    if reference.get("apiVersion") == "v1" and reference.get("kind") == "Event":
        errors.append(invalid(path, reference, "/v1, Kind=Event is disallowed from being an owner"))
    return errors


_OWNER_ORDER = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _as_struct(reference: dict[str, Any]) -> Struct:
    """The fields in the order in which Go's struct has them, since the text shows them so."""
    return Struct({name: reference[name] for name in _OWNER_ORDER if name in reference})


def _finalizers(finalizers: list[str], path: Path) -> list[FieldError]:
    errors = [invalid(path, name, why) for name in finalizers for why in label_key(name)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        errors.append(invalid(path, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    return errors


def _managed_fields(entries: list[dict[str, Any]], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, entry in enumerate(entries):
        where = path.index(index)
        if entry.get("operation", "") not in ("Apply", "Update"):
            given = entry.get("operation", "")
            errors.append(invalid(where.child("operation"), given, "must be `Apply` or `Update`"))
        if entry.get("fieldsType", "") not in ("", "FieldsV1"):
            errors.append(invalid(where.child("fieldsType"), entry["fieldsType"], "must be `FieldsV1`"))
        errors += validate_manager(entry.get("manager", ""), where.child("manager"))
        if len(entry.get("subresource", "").encode()) > MAX_SUBRESOURCE_BYTES:
            errors.append(too_long(where.child("subresource"), MAX_SUBRESOURCE_BYTES))
    return errors
