"""WATCH: where it starts, what moves in and out of a selector, bookmarks, initial events, representations."""

from __future__ import annotations

from collections.abc import Iterator

from differential.case import (
    MERGE,
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    Case,
    Request,
    create,
    delete,
    get,
    job,
    list_,
    patch,
    watch,
)

LABELLED = job("a", meta={"labels": {"app": "x"}})
TO_Y = patch({"metadata": {"labels": {"app": "y"}}}, MERGE)
TO_X = patch({"metadata": {"labels": {"app": "x"}}}, MERGE)
LIFE = (create(LABELLED), TO_Y, TO_X, delete())
BAD = (
    "resourceVersion=abc",
    "resourceVersion=-1",
    "resourceVersionMatch=NotOlderThan",
    "resourceVersionMatch=Exact&resourceVersion=${a.rv}",
    "resourceVersionMatch=NotOlderThan&resourceVersion=${a.rv}",
    "sendInitialEvents=true",
    "sendInitialEvents=false",
    "sendInitialEvents=true&resourceVersionMatch=Exact",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=abc",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=abc",
    "continue=abc",
    "limit=1",
    "labelSelector=a%20b",
    "fieldSelector=spec.image=x",
    "timeoutSeconds=x",
    "allowWatchBookmarks=maybe",
)
INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def cases() -> Iterator[Case]:
    """The rows about WATCH."""
    yield Case("watch: a life", [watch("", *LIFE)])
    yield Case("watch: from 0", [create(job("z")), watch("resourceVersion=0", *LIFE)])
    yield Case("watch: from now", [create(job("z")), watch("", *LIFE)])
    yield Case("watch: from a list", [create(job("z")), list_(), watch("resourceVersion=${listrv}", *LIFE)])
    yield Case("watch: from an object", [create(job("z"), save="z"), *LIFE, watch("resourceVersion=${z.rv}")])
    yield Case("watch: from too long ago", [create(save="a"), watch("resourceVersion=1")])
    yield Case("watch: from the future", [create(save="a"), watch("resourceVersion=9223372036854775000")])
    yield Case("watch: labels in and out", [watch("labelSelector=app%3Dx", *LIFE)])
    yield Case(
        "watch: labels, starting outside",
        [create(LABELLED), TO_Y, watch("labelSelector=app%3Dx", TO_X, TO_Y)],
    )
    yield Case(
        "watch: fields in and out",
        [watch("fieldSelector=spec.priority=7", create(job()), *_priorities(), delete())],
    )
    yield Case("watch: one name", [watch("fieldSelector=metadata.name=a", create(job("b")), *LIFE)])
    yield Case("watch: by status field", [create(), watch("fieldSelector=status.phase=Ready", *_phases())])
    yield Case(
        "watch: finalizers",
        [watch("", create(job(meta={"finalizers": ["example.com/f"]})), delete(), _unfinalize())],
    )
    yield Case("watch: an update without a change", [create(), watch("resourceVersion=${rv}", TO_Y, TO_Y)])
    yield Case("watch: a dry run is not seen", [watch("", create(query="dryRun=All"), create(job("b")))])
    yield Case(
        "watch: delete collection",
        [create(job("b")), create(job("c")), watch("resourceVersion=${rv}", _delete_all())],
    )
    yield Case(
        "watch: bookmarks near the end",
        [create(), watch("allowWatchBookmarks=true&resourceVersion=${rv}", seconds=3)],
    )
    yield Case(
        "watch: initial events", [create(job("b")), create(job("a")), watch(INITIAL, create(job("c")))]
    )
    yield Case("watch: initial events of nothing", [watch(INITIAL, create(job("c")))])
    yield Case(
        "watch: initial events from 0", [create(), watch(INITIAL + "&resourceVersion=0", create(job("c")))]
    )
    yield Case(
        "watch: initial events from a revision",
        [create(), watch(INITIAL + "&resourceVersion=${rv}", create(job("c")))],
    )
    yield Case(
        "watch: initial events of a selector",
        [create(LABELLED), create(job("b")), watch(INITIAL + "&labelSelector=app%3Dx")],
    )
    yield Case(
        "watch: initial events without bookmarks",
        [create(), watch(INITIAL.replace("&allowWatchBookmarks=true", ""), create(job("c")))],
    )
    yield Case(
        "watch: no initial events",
        [create(), watch(INITIAL.replace("Events=true", "Events=false"), create(job("c")))],
    )
    yield Case(
        "watch: no initial events from a revision",
        [
            create(),
            watch(
                INITIAL.replace("Events=true", "Events=false") + "&resourceVersion=${rv}", create(job("c"))
            ),
        ],
    )
    yield Case("watch: initial events, table", [create(), watch(INITIAL, create(job("c")), accept=TABLE)])
    yield Case("watch: initial events, partial", [create(), watch(INITIAL, create(job("c")), accept=PARTIAL)])
    for name, accept in (
        ("table", TABLE),
        ("partial", PARTIAL),
        ("partial list", PARTIAL_LIST),
        ("yaml", "application/yaml"),
        ("protobuf", "application/vnd.kubernetes.protobuf"),
        ("stream", "application/json;stream=watch"),
        ("anything", "*/*"),
        ("html", "text/html"),
    ):
        yield Case(f"watch: accept {name}", [watch("", *LIFE, accept=accept)])
    for include in ("None", "Object", "Everything"):
        yield Case(
            f"watch: table with object {include}",
            [watch(f"includeObject={include}", create(), delete(), accept=TABLE)],
        )
    for query in BAD:
        yield Case(f"watch: ?{query}", [create(save="a"), watch(query, create(job("late")), seconds=1)])
    for value in ("1", "0", "false", "true", "", "x"):
        yield Case(
            f"watch: watch={value or 'empty'}",
            [create(), Request("GET", "${objects}?timeoutSeconds=1&watch=" + value)],
        )
    yield Case("watch: by the old path", [create(), _old_path("namespaces/${ns}/inferencejobs")])
    yield Case("watch: one object by the old path", [create(), _old_path("namespaces/${ns}/inferencejobs/a")])
    yield Case("watch: a single object's path", [create(), get(query="watch=true&timeoutSeconds=1")])


def _old_path(tail: str) -> Request:
    return Request("GET", "${root}/watch/" + tail + "?timeoutSeconds=1")


def _priorities() -> list[Request]:
    return [patch({"spec": {"priority": value}}) for value in (7, 8, 7)]


def _phases() -> list[Request]:
    return [patch({"status": {"phase": value}}, name="a/status") for value in ("Ready", "Degraded", "Ready")]


def _unfinalize() -> Request:
    return patch({"metadata": {"finalizers": None}})


def _delete_all() -> Request:
    return Request("DELETE", "${objects}")
