"""PUT and the three PATCHes on the object itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from differential.case import (
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    TABLE,
    YAML,
    Case,
    Request,
    create,
    delete,
    get,
    job,
    patch,
    put,
)

UPDATES: dict[str, Any] = {
    "unchanged": job(),
    "spec": job(spec={"priority": 1}),
    "labels alone": job(meta={"labels": {"a": "b"}}),
    "annotations alone": job(meta={"annotations": {"a": "b"}}),
    "status alone": job(status={"phase": "Ready"}),
    "invalid": job(spec={"gpuCount": 0}),
    "unknown field": job(spec={"extra": 1}),
    "same revision": job(meta={"resourceVersion": "${rv}"}, spec={"priority": 1}),
    "stale revision": job(meta={"resourceVersion": "1"}, spec={"priority": 1}),
    "revision that is no number": job(meta={"resourceVersion": "abc"}),
    "revision zero": job(meta={"resourceVersion": "0"}),
    "same uid": job(meta={"uid": "${uid}"}, spec={"priority": 1}),
    "other uid": job(meta={"uid": "11111111-1111-1111-1111-111111111111"}),
    "other name": job("b"),
    "no name": job(meta={"name": None}),
    "other namespace": job(meta={"namespace": "other"}),
    "same namespace": job(meta={"namespace": "${ns}"}, spec={"priority": 2}),
    "other kind": job(kind="Other"),
    "no kind": {k: v for k, v in job().items() if k != "kind"},
    "other version": job(apiVersion="${group}/v9"),
    "creation time": job(meta={"creationTimestamp": "2001-01-01T00:00:00Z"}),
    "generation": job(meta={"generation": 99}),
    "deletion time": job(meta={"deletionTimestamp": "2001-01-01T00:00:00Z"}),
    "deletion grace": job(meta={"deletionGracePeriodSeconds": 5}),
    "generate name": job(meta={"generateName": "x-"}),
    "self link": job(meta={"selfLink": "/x"}),
    "finalizer added": job(meta={"finalizers": ["example.com/f"]}),
    "managed fields reset": job(meta={"managedFields": [{}]}),
    "managed fields emptied": job(meta={"managedFields": []}, spec={"priority": 3}),
    "managed fields kept": job(meta={"managedFields": None}, spec={"priority": 3}),
    "managed fields broken": job(meta={"managedFields": [{"manager": "x", "operation": "Make"}]}),
    "metadata null": job(metadata=None),
    "empty object": {},
    "broken": '{"a":',
    "empty": "",
}
MERGES: dict[str, Any] = {
    "spec": {"spec": {"priority": 1}},
    "nothing": {},
    "the same": {"spec": {"image": "registry.example.com/vllm:1"}},
    "null removes": {"spec": {"priority": None}},
    "null of a required field": {"spec": {"image": None}},
    "null spec": {"spec": None},
    "list replaced": {"spec": {"gpuProducts": ["X"]}},
    "label": {"metadata": {"labels": {"a": "b"}}},
    "label number": {"metadata": {"labels": {"a": 1}}},
    "label removed that is not there": {"metadata": {"labels": {"zz": None}}},
    "unknown field": {"spec": {"extra": 1}},
    "invalid": {"spec": {"gpuCount": 0}},
    "name": {"metadata": {"name": "b"}},
    "namespace": {"metadata": {"namespace": "other"}},
    "uid": {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}},
    "kind": {"kind": "Other"},
    "apiVersion": {"apiVersion": "other/v1"},
    "same revision": {"metadata": {"resourceVersion": "${rv}"}, "spec": {"priority": 1}},
    "stale revision": {"metadata": {"resourceVersion": "1"}, "spec": {"priority": 1}},
    "null revision": {"metadata": {"resourceVersion": None}, "spec": {"priority": 1}},
    "status": {"status": {"phase": "Ready"}},
    "generation": {"metadata": {"generation": 50}},
    "creation time": {"metadata": {"creationTimestamp": None}},
    "finalizer": {"metadata": {"finalizers": ["example.com/f"]}},
    "managed fields": {"metadata": {"managedFields": [{}]}},
    "metadata null": {"metadata": None},
    "a list": [],
    "a string": '"x"',
    "null": "null",
    "broken": '{"a":',
    "empty": "",
    "duplicate key": '{"spec": {"priority": 1, "priority": 2}}',
}
OPERATIONS: dict[str, Any] = {
    "add": [{"op": "add", "path": "/spec/priority", "value": 1}],
    "replace": [{"op": "replace", "path": "/spec/image", "value": "b"}],
    "replace what is missing": [{"op": "replace", "path": "/spec/model", "value": "a:b"}],
    "remove": [{"op": "remove", "path": "/spec/priority"}],
    "remove what is missing": [{"op": "remove", "path": "/spec/model"}],
    "remove required": [{"op": "remove", "path": "/spec/image"}],
    "add below what is missing": [{"op": "add", "path": "/spec/scratch/size", "value": "1Gi"}],
    "test that holds": [
        {"op": "test", "path": "/spec/image", "value": "registry.example.com/vllm:1"},
        {"op": "add", "path": "/spec/priority", "value": 1},
    ],
    "test that fails": [{"op": "test", "path": "/spec/image", "value": "x"}],
    "test of what is missing": [{"op": "test", "path": "/spec/model", "value": "x"}],
    "test of null": [{"op": "test", "path": "/spec/model", "value": None}],
    "list append": [
        {"op": "add", "path": "/spec/gpuProducts", "value": ["A"]},
        {"op": "add", "path": "/spec/gpuProducts/-", "value": "B"},
        {"op": "add", "path": "/spec/gpuProducts/0", "value": "C"},
    ],
    "list index too high": [{"op": "add", "path": "/spec/gpuProducts/5", "value": "B"}],
    "copy": [{"op": "copy", "from": "/spec/image", "path": "/metadata/annotations/x"}],
    "copy to a field": [{"op": "copy", "from": "/spec/gpuCount", "path": "/spec/replicas"}],
    "move": [{"op": "move", "from": "/spec/priority", "path": "/spec/backoffLimit"}],
    "escapes": [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/a~1b~0c", "value": "x"},
    ],
    "whole document": [{"op": "replace", "path": "", "value": {"a": 1}}],
    "unknown op": [{"op": "merge", "path": "/spec", "value": 1}],
    "no op": [{"path": "/spec", "value": 1}],
    "no path": [{"op": "add", "value": 1}],
    "no value": [{"op": "add", "path": "/spec/priority"}],
    "bad path": [{"op": "add", "path": "spec/priority", "value": 1}],
    "empty list": [],
    "an object": {"op": "add", "path": "/spec/priority", "value": 1},
    "not objects": [1],
    "broken": "[{",
    "empty": "",
    "null": "null",
    "unknown field": [{"op": "add", "path": "/spec/extra", "value": 1}],
    "invalid": [{"op": "add", "path": "/spec/gpuCount", "value": 0}],
    "label number": [{"op": "add", "path": "/metadata/labels", "value": {"a": 1}}],
    "revision stale": [{"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}],
    "unchanged": [{"op": "replace", "path": "/spec/gpuCount", "value": 1}],
    "unknown key in op": [{"op": "add", "path": "/spec/priority", "value": 1, "extra": 2}],
    "too many": [{"op": "test", "path": "/kind", "value": "InferenceJob"}] * 10001,
}


def cases() -> Iterator[Case]:
    """The rows about PUT and PATCH."""
    yield from _updates()
    for name, body in MERGES.items():
        yield Case(f"merge: {name}", [create(), patch(body), get()])
    for name, operations in OPERATIONS.items():
        yield Case(f"json patch: {name}", [create(), patch(operations, JSON_PATCH), get()])
    for kind in (
        STRATEGIC,
        "application/json",
        "text/plain",
        None,
        "application/merge-patch+json; charset=utf-8",
    ):
        yield Case(f"patch: as {kind}", [create(), patch({"spec": {"priority": 1}}, kind)])
    for query in (
        "dryRun=All",
        "dryRun=x",
        "fieldManager=me",
        "force=true",
        "force=false",
        "fieldValidation=x",
        "pretty=true",
    ):
        yield Case(
            f"merge: ?{query}", [create(), patch({"spec": {"priority": 1}}, MERGE, query=query), get()]
        )
    for level in ("Strict", "Warn", "Ignore"):
        query = f"fieldValidation={level}"
        yield Case(
            f"merge: unknown field, {level}", [create(), patch({"spec": {"extra": 1}, "top": 1}, query=query)]
        )
        yield Case(
            f"merge: duplicate key, {level}",
            [create(), patch('{"spec": {"priority": 1, "priority": 2}}', query=query)],
        )
        yield Case(
            f"json patch: unknown field, {level}",
            [create(), patch([{"op": "add", "path": "/spec/extra", "value": 1}], JSON_PATCH, query=query)],
        )
    yield Case("merge: not there", [patch({"spec": {}})])
    yield Case("json patch: not there", [patch([], JSON_PATCH)])
    yield Case(
        "merge: unchanged keeps the revision", [create(save="a"), patch({"spec": {"gpuCount": 1}}), get()]
    )
    yield Case(
        "merge: by two managers",
        [create(query="fieldManager=one"), patch({"spec": {"priority": 1}}, query="fieldManager=two")],
    )
    yield Case(
        "merge: removes what another set",
        [
            create(query="fieldManager=one"),
            patch({"spec": {"image": "b", "gpuCount": 3}}, query="fieldManager=two"),
            patch({"spec": {"gpuCount": None}}, query="fieldManager=three"),
        ],
    )
    yield Case(
        "merge: answer as table",
        [
            create(),
            Request(
                "PATCH", "${objects}/a", {"spec": {"priority": 1}}, {"Content-Type": MERGE, "Accept": TABLE}
            ),
        ],
    )
    yield Case(
        "patch: too big",
        [create(), patch({"metadata": {"annotations": {"a": "x" * (3 * 1024 * 1024 + 10)}}})],
    )
    yield Case(
        "patch: the result is too big for annotations",
        [create(), patch({"metadata": {"annotations": {"a": "x" * 300000}}})],
    )


def _updates() -> Iterator[Case]:
    for name, body in UPDATES.items():
        yield Case(f"update: {name}", [create(), put(body), get()])
    for query in (
        "dryRun=All",
        "dryRun=x",
        "fieldManager=me",
        "fieldValidation=Strict",
        "fieldValidation=no",
        "pretty=1",
    ):
        body = job(spec={"priority": 1, "extra": 2})
        yield Case(f"update: ?{query}", [create(), put(body, query=query), get()])
    yield Case("update: not there", [put(job())])
    yield Case("update: not there, with a revision", [put(job(meta={"resourceVersion": "5"}))])
    yield Case(
        "update: not there, with a uid", [put(job(meta={"uid": "11111111-1111-1111-1111-111111111111"}))]
    )
    yield Case(
        "update: in yaml",
        [
            create(),
            put("apiVersion: ${gv}\nkind: InferenceJob\nmetadata: {name: a}\nspec: {image: b}\n", kind=YAML),
        ],
    )
    yield Case("update: as text", [create(), put(job(), kind="text/plain")])
    yield Case(
        "update: the collection",
        [create(), Request("PUT", "${objects}", job(), {"Content-Type": "application/json"})],
    )
    yield Case(
        "update: generation moves with the spec alone",
        [
            create(),
            put(job(meta={"labels": {"a": "b"}})),
            put(job(spec={"priority": 3})),
            put(job(spec={"priority": 3})),
        ],
    )
    yield Case(
        "update: stale after another",
        [create(save="a"), put(job(spec={"priority": 1})), put(job(meta={"resourceVersion": "${a.rv}"}))],
    )
    yield Case("update: of a revision to come", [create(), put(job(meta={"resourceVersion": "99999999999"}))])
    finalized = job(meta={"finalizers": ["example.com/f"]})
    yield Case(
        "update: a finalizer after deletion",
        [create(finalized), delete(), put(job(meta={"finalizers": ["example.com/f", "example.com/g"]}))],
    )
    yield Case(
        "update: spec after deletion",
        [create(finalized), delete(), put(job(meta={"finalizers": ["example.com/f"]}, spec={"priority": 4}))],
    )
    yield Case("update: the last finalizer goes", [create(finalized), delete(), put(job()), get()])
    yield Case(
        "update: by another manager",
        [create(query="fieldManager=one"), put(job(spec={"priority": 1}), query="fieldManager=two")],
    )
    yield Case("update: drops a label", [create(job(meta={"labels": {"a": "b"}})), put(job())])
    yield Case(
        "update: changes a list map",
        [
            create(job(spec={"env": [{"name": "A", "value": "1"}]})),
            put(job(spec={"env": [{"name": "B"}, {"name": "A", "value": "2"}]})),
        ],
    )
    yield Case(
        "update: an old invalid value that stays", [create(), put(job(spec={"gpuProducts": ["A", "A"]}))]
    )
