"""Server-side apply: who owns what, who is in whose way, and what is given up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from differential.case import APPLY, MERGE, Case, apply, create, delete, get, job, patch, put, without


def _env(*pairs: tuple[str, str]) -> dict[str, Any]:
    return job(spec={"env": [{"name": name, "value": value} for name, value in pairs]})


def _ready(status: str, kind: str = "Ready") -> dict[str, Any]:
    condition = {
        "type": kind,
        "status": status,
        "reason": "Because",
        "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    return {
        "apiVersion": "${gv}",
        "kind": "InferenceJob",
        "metadata": {"name": "a"},
        "status": {"conditions": [condition]},
    }


BODIES: dict[str, Any] = {
    "no apiVersion": without(job(), "apiVersion"),
    "no kind": without(job(), "kind"),
    "no name": job(meta={"name": None}),
    "other name": job("b"),
    "other namespace": job(meta={"namespace": "other"}),
    "other kind": job(kind="Other"),
    "other version": job(apiVersion="${group}/v9"),
    "managed fields": job(meta={"managedFields": [{"manager": "x"}]}),
    "managed fields empty": job(meta={"managedFields": []}),
    "managed fields null": job(meta={"managedFields": None}),
    "unknown field": job(spec={"extra": 1}),
    "unknown top field": job(extra=1),
    "unknown in metadata": job(meta={"extra": 1}),
    "invalid": job(spec={"gpuCount": 0}),
    "wrong type": job(spec={"env": "x"}),
    "wrong scalar": job(spec={"gpuCount": "x"}),
    "duplicate list keys": _env(("A", "1"), ("A", "2")),
    "list item without its key": job(spec={"env": [{"value": "1"}]}),
    "duplicate set items": job(spec={"gpuProducts": ["A", "A"]}),
    "null field": job(spec={"model": None}),
    "null spec": job() | {"spec": None},
    "resource version": job(meta={"resourceVersion": "1"}),
    "uid": job(meta={"uid": "11111111-1111-1111-1111-111111111111"}),
    "generate name": job(meta={"generateName": "x-"}),
    "duplicate key": '{"apiVersion": "${gv}", "kind": "InferenceJob", "metadata": {"name": "a"}, '
    '"spec": {"image": "i", "image": "j"}}',
    "yaml": "apiVersion: ${gv}\nkind: InferenceJob\nmetadata:\n  name: a\nspec:\n  image: i\n",
    "broken": "a: [",
    "a list": "[]",
    "a string": "x",
    "empty": "",
    "null": "null",
    "empty object": "{}",
    "status": job(status={"phase": "Ready"}),
    "labels": job(meta={"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/f"]}),
    "owners": job(meta={"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}),
    "atomic map": job(spec={"nodeSelector": {"a": "b"}}),
    "map": job(spec={"resources": {"cpu": "1", "memory": "1Gi"}}),
    "pod template": job(spec={"podTemplate": {"spec": {"containers": [{"name": "x"}]}}}),
}


def cases() -> Iterator[Case]:
    """The rows about apply."""
    for name, body in BODIES.items():
        yield Case(f"apply: new, {name}", [apply(body), get()])
        yield Case(f"apply: to what is there, {name}", [create(), apply(body), get()])
    for query in ("dryRun=All", "fieldValidation=Strict", "fieldValidation=Ignore", "pretty=1", "dryRun=x"):
        yield Case(f"apply: ?{query}", [apply(job(spec={"extra": 1}), query=query), get()])
    for force in ("true", "false", "maybe"):
        yield Case(f"apply: force {force}", [create(), apply(job(spec={"image": "b"}), force=force)])
    yield Case("apply: no manager", [apply(job(), "")])
    yield Case("apply: manager too long", [apply(job(), "m" * 129)])
    yield Case("apply: manager not printable", [apply(job(), "a%0Ab")])
    yield Case("apply: twice", [apply(job()), apply(job()), get()])
    yield Case(
        "apply: as strict json type", [patch(job(), "application/apply-patch+json", query="fieldManager=one")]
    )
    yield Case("apply: as cbor", [patch(job(), "application/apply-patch+cbor", query="fieldManager=one")])
    yield from _ownership()
    yield from _lists()
    yield from _status()
    yield from _resets()


def _ownership() -> Iterator[Case]:
    one, two = job(spec={"priority": 1}), job(spec={"priority": 2})
    yield Case("apply: a conflict", [apply(one), apply(two, "two"), get()])
    yield Case(
        "apply: a conflict that is forced", [apply(one), apply(two, "two", force="true"), apply(one), get()]
    )
    yield Case("apply: shared", [apply(one), apply(one, "two"), apply(two, "two")])
    yield Case("apply: shared, one lets go", [apply(one), apply(one, "two"), apply(job(), "one"), get()])
    yield Case("apply: the last one lets go", [apply(one), apply(job()), get()])
    yield Case("apply: lets go of a required field", [apply(job()), apply(without(job(), "spec", "image"))])
    yield Case("apply: lets go of spec", [apply(one), apply(without(job(), "spec"))])
    yield Case(
        "apply: over an update",
        [create(query="fieldManager=creator"), apply(two, "two"), apply(job(spec={"image": "b"}), "two")],
    )
    yield Case(
        "apply: forced over an update",
        [create(query="fieldManager=creator"), apply(job(spec={"image": "b"}), "two", force="true")],
    )
    yield Case(
        "apply: same manager by update and apply",
        [create(query="fieldManager=one"), apply(job(spec={"image": "b"}))],
    )
    yield Case(
        "apply: an update takes a field",
        [apply(one), patch({"spec": {"priority": 7}}, MERGE, query="fieldManager=editor"), apply(one)],
    )
    yield Case(
        "apply: an update removes a field",
        [
            apply(one),
            patch({"spec": {"priority": None}}, MERGE, query="fieldManager=editor"),
            get(),
            apply(one),
        ],
    )
    yield Case(
        "apply: several conflicts",
        [
            apply(job(spec={"priority": 1, "replicas": 2, "env": [{"name": "A", "value": "1"}]})),
            apply(job(spec={"priority": 2, "replicas": 3, "env": [{"name": "A", "value": "2"}]}), "two"),
        ],
    )
    yield Case(
        "apply: conflicts with several",
        [
            apply(one),
            apply(job(spec={"replicas": 4}), "two"),
            apply(job(spec={"priority": 9, "replicas": 9}), "three"),
        ],
    )
    yield Case(
        "apply: labels",
        [apply(job(meta={"labels": {"a": "1", "b": "2"}})), apply(job(meta={"labels": {"a": "1"}})), get()],
    )
    yield Case(
        "apply: label conflict",
        [apply(job(meta={"labels": {"a": "1"}})), apply(job(meta={"labels": {"a": "2"}}), "two")],
    )
    yield Case(
        "apply: finalizers",
        [
            apply(job(meta={"finalizers": ["example.com/a"]})),
            apply(job(meta={"finalizers": ["example.com/b"]}), "two"),
            get(),
        ],
    )
    yield Case(
        "apply: atomic map",
        [apply(job(spec={"nodeSelector": {"a": "1"}})), apply(job(spec={"nodeSelector": {"b": "2"}}), "two")],
    )
    yield Case(
        "apply: map",
        [
            apply(job(spec={"resources": {"cpu": "1"}})),
            apply(job(spec={"resources": {"memory": "1Gi"}}), "two"),
            apply(job()),
            get(),
        ],
    )
    yield Case(
        "apply: nested object",
        [
            apply(job(spec={"scratch": {"size": "1Gi", "storageClassName": "x"}})),
            apply(job(spec={"scratch": {"size": "1Gi"}}), "two"),
            apply(job(spec={"scratch": {"storageClassName": "x"}}), "two"),
            get(),
        ],
    )
    yield Case(
        "apply: free-form object",
        [
            apply(job(spec={"podTemplate": {"spec": {"a": {"b": 1}}}})),
            apply(job(spec={"podTemplate": {"spec": {"a": {"c": 2}}}}), "two"),
            get(),
        ],
    )
    yield Case(
        "apply: a defaulted field",
        [apply(job()), apply(job(spec={"gpuCount": 1}), "two"), apply(job(spec={"gpuCount": 2}), "three")],
    )
    yield Case(
        "apply: stale revision",
        [apply(job(), save="a"), apply(one), apply(job(meta={"resourceVersion": "${a.rv}"}))],
    )
    yield Case(
        "apply: fresh revision",
        [apply(job()), apply(job(meta={"resourceVersion": "${rv}"}, spec={"priority": 1}))],
    )
    yield Case(
        "apply: being deleted", [apply(job(meta={"finalizers": ["example.com/a"]})), delete(), apply(one)]
    )
    yield Case(
        "apply: managers are many",
        [*(apply(job(spec={"env": [{"name": f"E{i}", "value": "x"}]}), f"m{i}") for i in range(12)), get()],
    )
    yield Case(
        "apply: updaters are many",
        [create(), *(patch({"spec": {"priority": i}}, query=f"fieldManager=m{i}") for i in range(13)), get()],
    )


def _lists() -> Iterator[Case]:
    yield Case("apply: list map merges", [apply(_env(("A", "1"))), apply(_env(("B", "2")), "two"), get()])
    yield Case(
        "apply: list map item removed", [apply(_env(("A", "1"), ("B", "2"))), apply(_env(("B", "2"))), get()]
    )
    yield Case(
        "apply: list map item of another stays",
        [apply(_env(("A", "1"))), apply(_env(("B", "2")), "two"), apply(job()), get()],
    )
    yield Case(
        "apply: list map order",
        [apply(_env(("A", "1"), ("B", "2"), ("C", "3"))), apply(_env(("C", "3"), ("A", "1"))), get()],
    )
    yield Case(
        "apply: list map order with another",
        [apply(_env(("A", "1"), ("B", "2"))), apply(_env(("X", "1"), ("B", "2"), ("A", "1")), "two"), get()],
    )
    yield Case(
        "apply: list map insertion",
        [apply(_env(("A", "1"), ("C", "3"))), apply(_env(("A", "1"), ("B", "2"), ("C", "3"))), get()],
    )
    yield Case("apply: list map conflict", [apply(_env(("A", "1"))), apply(_env(("A", "2")), "two")])
    yield Case("apply: list map emptied", [apply(_env(("A", "1"))), apply(job(spec={"env": []})), get()])
    yield Case(
        "apply: set merges",
        [
            apply(job(spec={"gpuProducts": ["A"]})),
            apply(job(spec={"gpuProducts": ["B"]}), "two"),
            apply(job()),
            get(),
        ],
    )
    yield Case(
        "apply: set order",
        [
            apply(job(spec={"gpuProducts": ["A", "B"]})),
            apply(job(spec={"gpuProducts": ["B", "C", "A"]}), "two"),
            get(),
        ],
    )
    yield Case(
        "apply: atomic list",
        [
            apply(job(spec={"command": ["a"]})),
            apply(job(spec={"command": ["b"]}), "two"),
            apply(job(spec={"command": ["b"]}), "two", force="true"),
        ],
    )
    yield Case(
        "apply: atomic list of objects",
        [apply(job(spec={"tolerations": [{"key": "a"}]})), apply(job(spec={"tolerations": [{"key": "b"}]}))],
    )
    yield Case(
        "apply: atomic struct",
        [
            apply(
                job(spec={"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]})
            ),
            apply(
                job(spec={"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "t", "key": "k"}}}]}),
                "two",
            ),
        ],
    )


def _status() -> Iterator[Case]:
    yield Case("apply status: a condition", [create(), apply(_ready("True"), name="a/status"), get()])
    yield Case("apply status: not there", [apply(_ready("True"), name="a/status")])
    yield Case(
        "apply status: two conditions of two",
        [
            create(),
            apply(_ready("True"), name="a/status"),
            apply(_ready("False", "Degraded"), "two", "a/status"),
            get(),
        ],
    )
    yield Case(
        "apply status: conflict",
        [create(), apply(_ready("True"), name="a/status"), apply(_ready("False"), "two", "a/status")],
    )
    yield Case(
        "apply status: spec is ignored", [create(), apply(job(spec={"priority": 8}), name="a/status"), get()]
    )
    yield Case("apply status: invalid", [create(), apply(_ready("Perhaps"), name="a/status")])
    yield Case("apply: status is ignored", [apply(job(status={"phase": "Ready"})), get()])
    yield Case(
        "apply: same manager, object and status",
        [apply(job()), apply(_ready("True"), name="a/status"), apply(job()), get()],
    )


def _resets() -> Iterator[Case]:
    yield Case(
        "managed fields: reset by an empty entry",
        [apply(job()), patch({"metadata": {"managedFields": [{}]}}), get()],
    )
    yield Case(
        "managed fields: emptied by a patch",
        [apply(job()), patch({"metadata": {"managedFields": []}}), get()],
    )
    yield Case(
        "managed fields: removed by a patch",
        [apply(job()), patch({"metadata": {"managedFields": None}}), get()],
    )
    yield Case(
        "managed fields: rewritten by an update",
        [
            apply(job()),
            put(
                job(
                    meta={
                        "managedFields": [
                            {
                                "manager": "old",
                                "operation": "Apply",
                                "apiVersion": "${gv}",
                                "time": "2020-01-01T00:00:00Z",
                                "fieldsType": "FieldsV1",
                                "fieldsV1": {"f:spec": {"f:image": {}}},
                            }
                        ]
                    }
                )
            ),
        ],
    )
    yield Case(
        "managed fields: bad fieldsType",
        [
            apply(job()),
            patch(
                {
                    "metadata": {
                        "managedFields": [
                            {
                                "manager": "old",
                                "operation": "Apply",
                                "apiVersion": "${gv}",
                                "fieldsType": "FieldsV9",
                            }
                        ]
                    }
                }
            ),
        ],
    )
    yield Case(
        "managed fields: bad content",
        [
            apply(job()),
            patch(
                {
                    "metadata": {
                        "managedFields": [
                            {
                                "manager": "old",
                                "operation": "Apply",
                                "apiVersion": "${gv}",
                                "fieldsType": "FieldsV1",
                                "fieldsV1": {"x:y": {}},
                            }
                        ]
                    }
                }
            ),
        ],
    )
    yield Case(
        "managed fields: reset, then apply",
        [apply(job()), patch({"metadata": {"managedFields": [{}]}}), apply(job(spec={"priority": 1}), "two")],
    )
    yield Case(
        "managed fields: created without, then apply",
        [create(job(meta={"managedFields": [{}]})), apply(job(spec={"image": "b"}), "two")],
    )
    yield Case(
        "managed fields: time stays when nothing changes",
        [apply(job()), apply(job(), force="true"), patch({}, MERGE), get()],
    )
    yield Case(
        "managed fields: csa to ssa by name",
        [
            create(query="fieldManager=kubectl-client-side-apply"),
            patch(job(spec={"priority": 1}), APPLY, query="fieldManager=kubectl"),
        ],
    )
