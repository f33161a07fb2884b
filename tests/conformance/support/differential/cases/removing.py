"""DELETE of one object and of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from differential.case import MERGE, TABLE, YAML, Body, Case, Request, create, delete, get, job, list_, patch

FINALIZED = job(meta={"finalizers": ["example.com/f"]})


def _options(**fields: Any) -> dict[str, Any]:
    return {"kind": "DeleteOptions", "apiVersion": "v1", **fields}


OPTIONS: dict[str, Body] = {
    "empty": {},
    "kind alone": _options(),
    "of meta v1": {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"},
    "of our group": {"kind": "DeleteOptions", "apiVersion": "${gv}"},
    "of another group": {"kind": "DeleteOptions", "apiVersion": "nowhere.example.com/v1"},
    "other kind": {"kind": "Other", "apiVersion": "v1"},
    "uid right": _options(preconditions={"uid": "${uid}"}),
    "uid wrong": _options(preconditions={"uid": "11111111-1111-1111-1111-111111111111"}),
    "revision right": _options(preconditions={"resourceVersion": "${rv}"}),
    "revision wrong": _options(preconditions={"resourceVersion": "1"}),
    "both wrong": _options(preconditions={"resourceVersion": "1", "uid": "x"}),
    "background": _options(propagationPolicy="Background"),
    "foreground": _options(propagationPolicy="Foreground"),
    "orphan": _options(propagationPolicy="Orphan"),
    "policy unknown": _options(propagationPolicy="Sideways"),
    "policy empty": _options(propagationPolicy=""),
    "orphan dependents": _options(orphanDependents=True),
    "orphan dependents and policy": _options(orphanDependents=True, propagationPolicy="Orphan"),
    "grace": _options(gracePeriodSeconds=30),
    "grace zero": _options(gracePeriodSeconds=0),
    "grace negative": _options(gracePeriodSeconds=-5),
    "grace string": _options(gracePeriodSeconds="1"),
    "dry run": _options(dryRun=["All"]),
    "dry run unknown": _options(dryRun=["Some"]),
    "unknown field": _options(extra=1),
    "an object": job(),
    "broken": "{",
    "a list": "[]",
    "null": "null",
    "spaces": "  ",
}
QUERIES = (
    "propagationPolicy=Foreground",
    "propagationPolicy=Background",
    "propagationPolicy=Orphan",
    "propagationPolicy=x",
    "propagationPolicy=",
    "orphanDependents=true",
    "orphanDependents=true&propagationPolicy=Orphan",
    "gracePeriodSeconds=0",
    "gracePeriodSeconds=x",
    "dryRun=All",
    "dryRun=x",
    "pretty=true",
    "unknown=1",
    "preconditions=x",
)


def cases() -> Iterator[Case]:
    """The rows about DELETE."""
    yield Case("delete: plain", [create(), delete(), get()])
    yield Case("delete: not there", [delete()])
    yield Case("delete: not there, with a wrong uid", [delete(body=OPTIONS["uid wrong"])])
    yield Case("delete: with a finalizer", [create(FINALIZED), delete(), get(), delete(), get()])
    yield Case("delete: the finalizer goes", [create(FINALIZED), delete(), _unfinalize(), get()])
    yield Case(
        "delete: one of two finalizers goes",
        [
            create(job(meta={"finalizers": ["example.com/a", "example.com/b"]})),
            delete(),
            patch({"metadata": {"finalizers": ["example.com/b"]}}),
            patch({"metadata": {"finalizers": []}}),
            get(),
        ],
    )
    yield Case(
        "delete: finalizer added meanwhile",
        [
            create(FINALIZED),
            delete(),
            patch({"metadata": {"finalizers": ["example.com/f", "example.com/g"]}}),
        ],
    )
    yield Case(
        "delete: labels change meanwhile",
        [create(FINALIZED), delete(), patch({"metadata": {"labels": {"a": "b"}}})],
    )
    yield Case(
        "delete: deletion time cannot be taken back",
        [create(FINALIZED), delete(), patch({"metadata": {"deletionTimestamp": None}}, MERGE), get()],
    )
    yield Case(
        "delete: status changes meanwhile",
        [create(FINALIZED), delete(), patch({"status": {"phase": "Terminating"}}, name="a/status")],
    )
    yield Case(
        "delete: finalizer goes through status",
        [
            create(FINALIZED),
            delete(),
            patch({"metadata": {"finalizers": None}, "status": {"phase": "Failed"}}, name="a/status"),
            get(),
        ],
    )
    yield Case(
        "delete: foreground twice",
        [
            create(),
            delete(body=OPTIONS["foreground"]),
            delete(body=OPTIONS["foreground"]),
            delete(body=OPTIONS["background"]),
            get(),
        ],
    )
    yield Case(
        "delete: foreground, then orphan",
        [create(FINALIZED), delete(body=OPTIONS["foreground"]), delete(body=OPTIONS["orphan"]), get()],
    )
    yield Case(
        "delete: answer as table", [create(), Request("DELETE", "${objects}/a", None, {"Accept": TABLE})]
    )
    yield Case(
        "delete: with a finalizer, answer as table",
        [create(FINALIZED), Request("DELETE", "${objects}/a", None, {"Accept": TABLE})],
    )
    yield Case(
        "delete: options in yaml", [create(), delete(body="kind: DeleteOptions\napiVersion: v1\n", kind=YAML)]
    )
    yield Case("delete: options as text", [create(), delete(body=_options(), kind="text/plain")])
    yield Case("delete: options without a type", [create(), delete(body=_options(), kind=None)])
    yield Case(
        "delete: options in body and query",
        [create(), delete(query="propagationPolicy=Foreground", body=OPTIONS["background"])],
    )
    yield Case("delete: created again", [create(), delete(), create(), get()])
    for name, body in OPTIONS.items():
        yield Case(f"delete: options {name}", [create(), delete(body=body), get()])
        yield Case(f"delete: options {name}, with a finalizer", [create(FINALIZED), delete(body=body), get()])
    for query in QUERIES:
        yield Case(f"delete: ?{query}", [create(), delete(query=query), get()])
    yield from _collections()


def _collections() -> Iterator[Case]:
    three = [
        create(job("a", meta={"labels": {"app": "x"}})),
        create(job("b", meta={"finalizers": ["example.com/f"]})),
        create(job("c", spec={"priority": 3})),
    ]
    yield Case("deletecollection: nothing", [_all()])
    yield Case("deletecollection: three", [*three, _all(), list_()])
    yield Case("deletecollection: all namespaces", [*three, Request("DELETE", "${root}/inferencejobs")])
    yield Case("deletecollection: dry run", [*three, _all("dryRun=All"), list_()])
    yield Case("deletecollection: foreground", [*three, _all("propagationPolicy=Foreground"), list_()])
    yield Case("deletecollection: bad policy", [*three, _all("propagationPolicy=x")])
    for query in (
        "labelSelector=app%3Dx",
        "labelSelector=a%20b",
        "fieldSelector=spec.priority%3D3",
        "fieldSelector=spec.image%3D3",
        "fieldSelector=metadata.name%3Da",
        "limit=1",
        "resourceVersion=0",
        "resourceVersion=abc",
        "resourceVersionMatch=Exact",
    ):
        yield Case(f"deletecollection: ?{query}", [*three, _all(query), list_()])
    yield Case(
        "deletecollection: options in the body",
        [
            *three,
            Request(
                "DELETE",
                "${objects}",
                _options(propagationPolicy="Orphan"),
                {"Content-Type": "application/json"},
            ),
            list_(),
        ],
    )
    yield Case(
        "deletecollection: as table", [*three, Request("DELETE", "${objects}", None, {"Accept": TABLE})]
    )


def _all(query: str = "") -> Request:
    return Request("DELETE", "${objects}" + (f"?{query}" if query else ""))


def _unfinalize() -> Request:
    return patch({"metadata": {"finalizers": None}})
