"""The parameters of operations: what may stand in a path or in a query, for which operation.

Names, types and order are those of kube-apiserver 1.36, without the ones that only
its own feature gates serve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation or of a path."""

    name: str
    description: str
    type: Literal["string", "integer", "boolean"] = "string"
    place: Literal["query", "path"] = "query"


_VERSIONS = (
    "Which state may be shown: unset asks for the current one, 0 for any, a version for that or a newer one."
)

PRETTY = Parameter("pretty", "Whether the answer is indented for people. Browsers and curl get that unasked.")
NAMESPACE = Parameter("namespace", "Namespace of the objects.", place="path")
RESOURCE_VERSION = Parameter("resourceVersion", _VERSIONS)
DRY_RUN = Parameter("dryRun", "`All` to go through every step without storing anything.")
FIELD_MANAGER = Parameter(
    "fieldManager",
    "Name of the one who writes, for managedFields; at most 128 printable characters. Apply needs it.",
)
FIELD_VALIDATION = Parameter(
    "fieldValidation",
    "What becomes of unknown and repeated fields: `Ignore` drops them, `Warn` (the default) also tells of "
    "them in warnings, `Strict` refuses the request.",
)
FORCE = Parameter("force", "Whether to take over fields that others own. For apply only.", "boolean")

WRITE = (DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION)
PATCH = (*WRITE, FORCE)
READ = (RESOURCE_VERSION,)
DELETE = (
    DRY_RUN,
    Parameter("gracePeriodSeconds", "Seconds until the object is deleted; 0 is at once.", "integer"),
    Parameter(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "Whether to remove an object that cannot be read any more, whatever its finalizers say.",
        "boolean",
    ),
    Parameter(
        "orphanDependents", "Older form of propagationPolicy: whether dependents are left behind.", "boolean"
    ),
    Parameter("propagationPolicy", "What happens to dependents: `Orphan`, `Background` or `Foreground`."),
)
LIST = (
    Parameter("allowWatchBookmarks", "Whether a watch may send events of type BOOKMARK.", "boolean"),
    Parameter("continue", "Token of the previous part of the list, to get the next one. Not for watches."),
    Parameter("fieldSelector", "Which objects, by their fields. All by default."),
    Parameter("labelSelector", "Which objects, by their labels. All by default."),
    Parameter(
        "limit",
        "At most how many objects to list at once; `continue` in the answer's metadata leads to the rest.",
        "integer",
    ),
    RESOURCE_VERSION,
    Parameter("resourceVersionMatch", "How a list heeds resourceVersion: `Exact` or `NotOlderThan`."),
    Parameter(
        "sendInitialEvents",
        "Whether a watch begins with the objects that there are, followed by a bookmark with the annotation "
        "`k8s.io/initial-events-end`. Needs resourceVersionMatch=NotOlderThan.",
        "boolean",
    ),
    Parameter("timeoutSeconds", "Seconds after which a list or watch ends, whatever it is doing.", "integer"),
    Parameter("watch", "Whether to be told of changes as they happen, instead of getting a list.", "boolean"),
)


def name_of(kind: str) -> Parameter:
    """The name in the path of an object."""
    return Parameter("name", f"Name of the {kind}.", place="path")
