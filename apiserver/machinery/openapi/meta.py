"""The types that every API shares, as OpenAPI definitions: metadata, lists, options, Status, Scale.

Structure and names are those of kube-apiserver 1.36; the sentences are ours, so an aggregator that merges
documents keeps our definitions apart from its own. They carry no x-kubernetes-group-version-kind, which may
not occur twice in a merged document. Written for OpenAPI v3; v2 is derived from that.
"""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
AUTOSCALING: Final = "io.k8s.api.autoscaling.v1"

REF: Final = "$model"
"""The key under which a schema names another definition, until a document of some version is rendered."""


def ref(name: str, **extra: Any) -> Json:
    """A schema that is another definition, by its full name."""
    return {REF: name, **extra}


def _meta(name: str, **extra: Any) -> Json:
    return ref(f"{META}.{name}", **extra)


def _list(items: Json, kind: str = "atomic", **extra: Any) -> Json:
    return {"type": "array", "items": items, "x-kubernetes-list-type": kind, **extra}


_TEXT: Final[Json] = {"type": "string"}
_NEEDED_TEXT: Final[Json] = {"type": "string", "default": ""}
_FLAG: Final[Json] = {"type": "boolean"}
_INT32: Final[Json] = {"type": "integer", "format": "int32"}
_INT64: Final[Json] = {"type": "integer", "format": "int64"}
_TEXTS: Final[Json] = {"type": "object", "additionalProperties": _NEEDED_TEXT}

API_VERSION = "Group and version of the schema in which the object is written, such as `apps/v1`."
KIND = "Name of the object's type in CamelCase. It never changes."

Field = tuple[str, Json]
_TYPE: Final[dict[str, Field]] = {"apiVersion": (API_VERSION, _TEXT), "kind": (KIND, _TEXT)}


def _definition(
    about: str, fields: dict[str, Field] | None = None, required: tuple[str, ...] = (), **extra: Any
) -> Json:
    definition: Json = {"description": about, "type": "object"}
    if required:
        definition["required"] = list(required)
    if fields:
        definition["properties"] = {
            name: {"description": text, **schema} for name, (text, schema) in sorted(fields.items())
        }
    return {**definition, **extra}


_OBJECT_META: Final = _definition(
    "What every stored object has beside its type: identity, labels, owners and history.",
    {
        "annotations": ("Free text by key, kept for tools and people. It cannot be selected by.", _TEXTS),
        "creationTimestamp": ("When the server created the object. Set by the server.", _meta("Time")),
        "deletionGracePeriodSeconds": (
            "Seconds that the object has to end gracefully, once it is deleted.",
            _INT64,
        ),
        "deletionTimestamp": (
            "When the object is, or was, due to disappear. Set by the server upon a delete request; the "
            "object stays until its finalizers are gone.",
            _meta("Time"),
        ),
        "finalizers": (
            "Who has to clean up before the object disappears. Each removes its own entry when it is done.",
            _list(_NEEDED_TEXT, "set", **{"x-kubernetes-patch-strategy": "merge"}),
        ),
        "generateName": ("Beginning of a name that the server completes when no name is given.", _TEXT),
        "generation": ("Counts the changes of the desired state. Set by the server.", _INT64),
        "labels": ("Short values by key, to sort objects and to select them by.", _TEXTS),
        "managedFields": (
            "Which manager owns which fields. Kept by the server for server-side apply.",
            _list(_meta("ManagedFieldsEntry", default={})),
        ),
        "name": ("Name of the object, unique among its kind in the namespace. It never changes.", _TEXT),
        "namespace": ("Namespace of the object; empty for kinds that have none. It never changes.", _TEXT),
        "ownerReferences": (
            "Objects that this one belongs to. It is collected as garbage when all of them are gone.",
            _list(
                _meta("OwnerReference", default={}),
                "map",
                **{
                    "x-kubernetes-list-map-keys": ["uid"],
                    "x-kubernetes-patch-merge-key": "uid",
                    "x-kubernetes-patch-strategy": "merge",
                },
            ),
        ),
        "resourceVersion": (
            "Opaque mark of the stored state, for watches and to notice that somebody else wrote in between.",
            _TEXT,
        ),
        "selfLink": ("Not filled in any more.", _TEXT),
        "uid": ("Unique identity of the object in time and space. Set by the server.", _TEXT),
    },
)

_MANAGED_FIELDS: Final = _definition(
    "The fields that one manager owns by one kind of operation in one version.",
    {
        "apiVersion": ("Version of the type in which the fields are named.", _TEXT),
        "fieldsType": ("Format of the set of fields; always `FieldsV1`.", _TEXT),
        "fieldsV1": ("The set of fields.", _meta("FieldsV1")),
        "manager": ("Name of the manager.", _TEXT),
        "operation": ("How the manager came to own the fields: `Apply` or `Update`.", _TEXT),
        "subresource": ("Subresource through which the manager wrote; empty for the object itself.", _TEXT),
        "time": ("When the manager's set of fields, or a value in it, last changed.", _meta("Time")),
    },
)

_OWNER: Final = _definition(
    "Names the owner of an object, in the same namespace or without one.",
    {
        "apiVersion": ("Group and version of the owner's type.", _NEEDED_TEXT),
        "blockOwnerDeletion": ("Whether a foreground deletion of the owner waits for this object.", _FLAG),
        "controller": ("Whether the owner is the one controller of this object.", _FLAG),
        "kind": ("Kind of the owner.", _NEEDED_TEXT),
        "name": ("Name of the owner.", _NEEDED_TEXT),
        "uid": ("UID of the owner.", _NEEDED_TEXT),
    },
    ("apiVersion", "kind", "name", "uid"),
    **{"x-kubernetes-map-type": "atomic"},
)

_DELETE_OPTIONS: Final = _definition(
    "How to delete.",
    {
        **_TYPE,
        "dryRun": ("`All` to go through every step without storing anything.", _list(_NEEDED_TEXT)),
        "gracePeriodSeconds": ("Seconds until the object is deleted; 0 is at once.", _INT64),
        "ignoreStoreReadErrorWithClusterBreakingPotential": (
            "Whether to remove an object that cannot be read any more, whatever its finalizers say.",
            _FLAG,
        ),
        "orphanDependents": ("Older form of propagationPolicy: whether dependents are left behind.", _FLAG),
        "preconditions": (
            "What must hold of the object for it to be deleted; otherwise there is a conflict.",
            _meta("Preconditions"),
        ),
        "propagationPolicy": (
            "What happens to dependents: `Orphan` leaves them, `Background` has them collected afterwards, "
            "`Foreground` before the object goes.",
            _TEXT,
        ),
    },
)

_STATUS: Final = _definition(
    "The answer to a request that is not answered with an object: success or failure, and why.",
    {
        **_TYPE,
        "code": ("HTTP status code.", _INT32),
        "details": ("What the failure was about.", _meta("StatusDetails")),
        "message": ("What happened, for people.", _TEXT),
        "metadata": ("Metadata of lists; empty but for a continue token.", _meta("ListMeta", default={})),
        "reason": ("Why the request failed, for programs, in one CamelCase word.", _TEXT),
        "status": ("`Success` or `Failure`.", _TEXT),
    },
)

_STATUS_DETAILS: Final = _definition(
    "What a failure was about.",
    {
        "causes": (
            "Single causes of the failure, for example each invalid field.",
            _list(_meta("StatusCause", default={})),
        ),
        "group": ("Group of the resource.", _TEXT),
        "kind": ("Kind, or name of the resource.", _TEXT),
        "name": ("Name of the object.", _TEXT),
        "retryAfterSeconds": ("Seconds after which a retry makes sense.", _INT32),
        "uid": ("UID of the object.", _TEXT),
    },
)

DEFINITIONS: Final[dict[str, Json]] = {
    f"{META}.ObjectMeta": _OBJECT_META,
    f"{META}.ManagedFieldsEntry": _MANAGED_FIELDS,
    f"{META}.OwnerReference": _OWNER,
    f"{META}.DeleteOptions": _DELETE_OPTIONS,
    f"{META}.Status": _STATUS,
    f"{META}.StatusDetails": _STATUS_DETAILS,
    f"{META}.StatusCause": _definition(
        "One cause of a failure.",
        {
            "field": ("Field of the object that caused it, such as `spec.env[0].name`.", _TEXT),
            "message": ("What is wrong, for people.", _TEXT),
            "reason": ("What is wrong, for programs.", _TEXT),
        },
    ),
    f"{META}.FieldsV1": _definition(
        "A set of fields as a tree: keys are `f:<name>`, `k:<keys of an item>`, `v:<value>`, `i:<index>`, "
        "and `.` for the place itself."
    ),
    f"{META}.ListMeta": _definition(
        "Metadata of a list.",
        {
            "continue": ("Opaque token with which to ask for the rest of the list; empty at its end.", _TEXT),
            "remainingItemCount": ("How many items follow, where that is known.", _INT64),
            "resourceVersion": (
                "Opaque mark of the state that the list shows, from which a watch can go on.",
                _TEXT,
            ),
            "selfLink": ("Not filled in any more.", _TEXT),
        },
    ),
    f"{META}.Patch": _definition("A patch; its content type says of which kind."),
    f"{META}.Preconditions": _definition(
        "What must hold of an object for a request to be carried out.",
        {
            "resourceVersion": ("The resourceVersion that the object must have.", _TEXT),
            "uid": ("The UID that the object must have.", _TEXT),
        },
    ),
    f"{META}.Time": {"description": "A time as RFC 3339 writes it.", "type": "string", "format": "date-time"},
    f"{AUTOSCALING}.Scale": _definition(
        "How many replicas an object should have, and has.",
        {
            **_TYPE,
            "metadata": ("Metadata of the object that is scaled.", _meta("ObjectMeta", default={})),
            "spec": ("What is wanted.", ref(f"{AUTOSCALING}.ScaleSpec", default={})),
            "status": ("What there is.", ref(f"{AUTOSCALING}.ScaleStatus", default={})),
        },
    ),
    f"{AUTOSCALING}.ScaleSpec": _definition(
        "How many replicas are wanted.",
        {"replicas": ("Number of replicas wanted.", {**_INT32, "default": 0})},
    ),
    f"{AUTOSCALING}.ScaleStatus": _definition(
        "How many replicas there are.",
        {
            "replicas": ("Number of replicas seen.", {**_INT32, "default": 0}),
            "selector": ("Label selector of the pods that are counted, as text.", _TEXT),
        },
        ("replicas",),
    ),
}
"""Every shared definition by its full name."""
