"""Sequences of writes to one object, for a field manager to be compared with kube-apiserver's.

A step is (operation, manager, content, options): `create` sends content as the object, `put` sends the live
object after a merge patch, `apply` sends content as an applied configuration. Options: force, sub
(subresource), v (version). The type is that of widget.yaml beside this file.
"""

from __future__ import annotations

from typing import Any

Step = tuple[str, str, dict[str, Any], dict[str, Any]]


def step(operation: str, manager: str, content: dict[str, Any] | None = None, **options: Any) -> Step:
    return operation, manager, content or {}, options


def create(manager: str, **spec: Any) -> Step:
    return step("create", manager, {"spec": spec})


def apply(manager: str, force: bool = False, **spec: Any) -> Step:
    return step("apply", manager, {"spec": spec}, **({"force": True} if force else {}))


def put(manager: str, **spec: Any) -> Step:
    return step("put", manager, {"spec": spec})


def port(number: int, **more: Any) -> dict[str, Any]:
    return {"port": number, **more}


def var(name: str, value: str | None = None) -> dict[str, Any]:
    return {"name": name} if value is None else {"name": name, "value": value}


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
CONFIG = (
    '{"apiVersion":"x.example.com/v1","kind":"Widget","metadata":{"annotations":{},"name":"NAME",'
    '"namespace":"default"},"spec":{"color":"red","size":1}}\n'
)

SEQUENCES: dict[str, list[Step]] = {
    "create then update": [create("a", color="red", size=1), put("b", color="blue"), put("a", weight=1.5)],
    "update without a change": [create("a", color="red"), put("b", color="red")],
    "update removes": [create("a", color="red", size=1), put("b", color=None), put("c", size=None)],
    "apply creates": [apply("a", color="red"), apply("a", color="red"), apply("b", color="red")],
    "apply conflicts": [
        apply("a", color="red", size=1),
        apply("b", color="blue", size=2, weight=1),
        apply("b", True, color="blue", size=2),
        apply("a", color="red"),
    ],
    "apply conflicts with an update": [create("a", color="red"), apply("b", color="blue")],
    "apply conflicts with several": [
        create("a", color="red"),
        apply("b", size=1),
        put("c", flag=True),
        apply("d", color="x", size=2, flag=False),
    ],
    "apply takes back what it gives up": [
        apply("a", color="red", size=1),
        apply("a", color="red"),
        apply("a"),
        step("apply", "a", {}),
    ],
    "apply gives up what another owns": [
        apply("a", color="red"),
        apply("b", color="red"),
        apply("a", size=1),
    ],
    "apply gives up what an update owns": [
        apply("a", color="red", size=1),
        put("b", color="blue"),
        apply("a", size=1),
        put("b", size=2),
        apply("a", weight=1),
    ],
    "unowned defaults stay": [apply("a", defaulted="x"), apply("a"), apply("a", color="red")],
    "sets": [
        apply("a", tags=["x", "y"]),
        apply("b", tags=["y", "z"]),
        apply("a", tags=["x"]),
        apply("a", tags=[]),
        apply("b"),
    ],
    "sets by update": [create("a", tags=["x", "y"]), put("b", tags=["y", "z"]), apply("c", tags=["w", "y"])],
    "order of set items": [
        create("a", tags=["1", "2", "3", "4"]),
        apply("b", tags=["4", "5", "2"]),
        apply("c", tags=["9", "3", "1"]),
    ],
    "plain lists are atomic": [
        apply("a", plain=["x"]),
        apply("b", plain=["x", "y"]),
        apply("b", True, plain=["x", "y"]),
        apply("a", color="red"),
    ],
    "list maps": [
        apply("a", ports=[port(80), port(443, name="tls")]),
        apply("b", ports=[port(80, name="web"), port(8080)]),
        apply("a", ports=[port(443, name="tls")]),
        apply("b"),
    ],
    "list map conflicts": [
        apply("a", env=[var("A", "1"), var("B", "2")]),
        apply("b", env=[var("A", "9"), var("C", "3")]),
        apply("b", True, env=[var("A", "9"), var("C", "3")]),
        apply("a", env=[var("B", "2")]),
    ],
    "list map with default keys": [
        apply("a", ports=[port(80)]),
        apply("b", ports=[port(80, protocol="TCP", name="x")]),
        apply("c", ports=[port(80, protocol="UDP")]),
        apply("a"),
        apply("b"),
    ],
    "list map order": [
        create("a", env=[var("A", "1"), var("B", "2"), var("C", "3")]),
        apply("b", env=[var("C", "3"), var("X", "0"), var("A", "1")]),
    ],
    "list map update": [
        create("a", env=[var("A", "1"), var("B", "2")]),
        put("b", env=[var("B", "3"), var("C", "4")]),
        put("c", env=[]),
    ],
    "nested maps in list items": [
        apply("a", ports=[port(80, labels={"x": "1"})]),
        apply("b", ports=[port(80, labels={"y": "2"})]),
        apply("a", ports=[port(80)]),
    ],
    "maps": [
        apply("a", sel={"x": "1", "y": "2"}),
        apply("b", sel={"y": "2", "z": "3"}),
        apply("a", sel={"x": "1"}),
        apply("b", sel={}),
        apply("a"),
    ],
    "atomic maps": [
        apply("a", atom={"a": "1"}),
        apply("b", atom={"b": "2"}),
        apply("b", True, atom={"b": "2"}),
        apply("b"),
    ],
    "nested structs": [
        apply("a", nested={"a": "1", "deep": {"x": 1}}),
        apply("b", nested={"deep": {"z": 2}}),
        apply("a", nested={"a": "1"}),
        apply("b"),
        put("c", nested={"deep": {"x": 5}}),
        apply("a", color="red"),
    ],
    "unknown content": [
        apply("a", open={"m": {"x": 1, "y": [1, 2]}, "s": "t"}),
        apply("b", open={"m": {"z": True}, "l": [{"a": 1}]}),
        put("c", open={"m": {"x": "now a string"}, "s": {"now": "a map"}}),
        apply("a", open={"m": {"x": 1}}),
        apply("a", True, open={"m": {"x": 1}}),
        apply("b"),
    ],
    "unknown content changes its type": [
        create("a", open={"x": {"y": 1}, "n": None, "t": True}),
        put("b", open={"x": "s", "t": 1}),
        put("c", open={"x": {"z": {"w": 1}}}),
        put("d", open={"x": [1]}),
        put("e", open={"x": {}}),
    ],
    "empty containers": [
        apply("a", tags=[], sel={}, nested={}, env=[], plain=[]),
        apply("b", tags=["x"], sel={"x": "1"}),
        apply("a"),
    ],
    "empty containers by update": [
        create("a", tags=[], sel={}, nested={}, env=[], plain=[], open={}),
        put("b", tags=["x"], sel={"x": "1"}, nested={"a": "1"}, plain=["x"]),
        put("c", tags=[], sel={"x": None}, nested={"a": None}, plain=[]),
    ],
    "labels, annotations, finalizers and owners": [
        step(
            "apply",
            "a",
            {
                "metadata": {
                    "labels": {"a": "1"},
                    "annotations": {"x": "y"},
                    "finalizers": ["example.com/f"],
                    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}],
                }
            },
        ),
        step(
            "apply",
            "b",
            {
                "metadata": {
                    "labels": {"b": "2"},
                    "finalizers": ["example.com/g"],
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "u2", "controller": True}
                    ],
                }
            },
        ),
        step("apply", "a", {"metadata": {"labels": {"c": "3"}}}),
        step("put", "c", {"metadata": {"labels": {"b": "9", "c": None}, "finalizers": []}}),
    ],
    "status by update": [
        create("a", color="red"),
        step("put", "b", {"status": {"phase": "Up"}}, sub="status"),
        step("put", "b", {"status": {"phase": "Down"}, "spec": {"color": "blue"}}, sub="status"),
        step("put", "c", {"status": {"phase": "Ignored"}, "spec": {"size": 1}}),
        step("put", "b", {"metadata": {"labels": {"x": "y"}}, "status": None}, sub="status"),
    ],
    "status by apply": [
        create("a", color="red"),
        step(
            "apply",
            "b",
            {"status": {"phase": "Up", "conditions": [{"type": "A", "status": "True"}]}},
            sub="status",
        ),
        step("apply", "c", {"status": {"conditions": [{"type": "B", "status": "True"}]}}, sub="status"),
        step("apply", "c", {"status": {"phase": "Down"}}, sub="status"),
        step("apply", "c", {"status": {"phase": "Down"}, "spec": {"color": "x"}}, sub="status", force=True),
        step("apply", "b", {"status": {"phase": "Main"}, "spec": {"size": 2}}),
        step("apply", "b", {}, sub="status"),
    ],
    "status and spec of one manager": [
        step("apply", "a", {"spec": {"color": "red"}}),
        step("apply", "a", {"status": {"phase": "Up"}}, sub="status"),
        step("put", "a", {"status": {"phase": "Down"}}, sub="status"),
        step("apply", "a", {"spec": {"size": 1}}),
    ],
    "other versions": [
        apply("a", color="red", size=1),
        step("apply", "b", {"spec": {"size": 1, "sel": {"x": "1"}}}, v="v1beta1"),
        step("put", "c", {"spec": {"flag": True, "tags": ["x"]}}, v="v1beta1"),
        apply("d", color="blue"),
        step("apply", "e", {"spec": {"flag": False, "sel": {"x": "2"}}}, v="v1beta1"),
        step("apply", "a", {"spec": {"color": "red"}}, v="v1beta1"),
        apply("b", weight=1),
        put("a", tags=["y"]),
    ],
    "lists across versions": [
        apply("a", ports=[port(80)], env=[var("A", "1")]),
        step(
            "put", "b", {"spec": {"env": [var("A", "2")], "ports": [port(81, protocol="TCP")]}}, v="v1beta1"
        ),
        step("apply", "a", {"spec": {"env": [var("A", "3")]}}, v="v1beta1", force=True),
        apply("a", color="red"),
    ],
    "managers are capped": [create("m0", sel={"k0": "0"})]
    + [put(f"m{n:02d}", sel={f"k{n}": str(n)}) for n in range(1, 13)]
    + [put("m05", sel={"again": "5"})],
    "ownership is reset": [
        create("a", color="red"),
        step("put", "b", {"metadata": {"managedFields": [{}]}, "spec": {"size": 1}}),
        put("c", color="blue"),
        apply("d", color="green"),
        apply("d", size=1, color="blue"),
    ],
    "ownership is reset by an empty list": [
        create("a", color="red"),
        step("put", "b", {"metadata": {"managedFields": []}, "spec": {"size": 1}}),
        put("c", color="blue"),
    ],
    "ownership is forgotten by a client": [
        create("a", color="red"),
        step("put", "b", {"metadata": {"managedFields": None}, "spec": {"size": 1}}),
    ],
    "ownership is written by a client": [
        create("a", color="red", size=1),
        step(
            "put",
            "b",
            {
                "metadata": {
                    "managedFields": [
                        {
                            "manager": "z",
                            "operation": "Apply",
                            "apiVersion": "x.example.com/v1",
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {"f:spec": {"f:size": {}, 'k:{ "b" : 1, "a":2}': {}}},
                        }
                    ]
                },
                "spec": {"color": "blue"},
            },
        ),
        apply("z", color="blue", weight=1),
    ],
    "broken ownership by a client is ignored": [
        create("a", color="red"),
        step(
            "put",
            "b",
            {"metadata": {"managedFields": [{"manager": "z", "operation": "Nope"}]}, "spec": {"size": 1}},
        ),
        step(
            "put",
            "b",
            {
                "metadata": {
                    "managedFields": [
                        {
                            "manager": "z",
                            "operation": "Update",
                            "apiVersion": "x.example.com/v1",
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {"nope": {}},
                        }
                    ]
                },
                "spec": {"size": 2},
            },
        ),
    ],
    "kubectl moves to server-side apply": [
        step(
            "create",
            "kubectl-client-side-apply",
            {"metadata": {"annotations": {LAST_APPLIED: CONFIG}}, "spec": {"color": "red", "size": 1}},
        ),
        apply("other", color="blue"),
        apply("kubectl", color="blue"),
        apply("kubectl", color="green", size=1),
        put("third", color="black"),
        apply("kubectl", color="white", size=2),
    ],
    "kubectl conflicts where the annotation is not followed": [
        step(
            "create",
            "kubectl-client-side-apply",
            {"metadata": {"annotations": {LAST_APPLIED: CONFIG}}, "spec": {"color": "red", "size": 1}},
        ),
        put("third", color="black"),
        apply("kubectl", color="blue", size=2),
        apply("kubectl", size=2),
    ],
    "everything is given up": [
        apply("a", defaulted="x"),
        step("apply", "a", {}),
        apply("a", sel={"x": "1"}, nested={"deep": {"x": 1}}),
        step("apply", "b", {"spec": {"sel": {}, "nested": {"deep": {}}}}),
        apply("a"),
        apply("b"),
    ],
    "manager without a name": [create("", color="red")],
    "invalid configurations": [
        apply("a", color="red"),
        apply("a", nope=1),
        apply("a", color=1),
        apply("a", color=True),
        apply("a", size="x"),
        apply("a", size=[1]),
        apply("a", flag="x"),
        apply("a", tags="x"),
        apply("a", tags=["a", "a"]),
        apply("a", tags=[{"a": 1}]),
        apply("a", tags=[["a"]]),
        apply("a", tags=[None]),
        apply("a", ports=[port(80), port(80)]),
        apply("a", ports=["x"]),
        apply("a", ports=[None]),
        apply("a", ports=[port(80, foo=1)]),
        apply("a", env=[{"value": "x"}]),
        apply("a", nested="x"),
        apply("a", nested=["x", {"a": None}]),
        apply("a", nested={"deep": {"x": "y", "z": 1.5}}),
        apply("a", sel={"a": 1}),
        apply("a", plain=[1]),
        apply("a", atom={"zzz": 1}),
        apply("a", color=1, size="x"),
        apply("a", color=[1, "x", {"b": None}]),
        apply("a", color={"b": "y", "a": [True]}),
        apply("a", flag={"b": "y", "a": [True, 1.5]}),
        step("apply", "a", {"metadata": {"labels": {"a": 1}}}),
        step("apply", "a", {"metadata": {"foo": 1}}),
        step("apply", "a", {"metadata": {"managedFields": []}}),
        step("apply", "a", {"foo": 1}),
        step("apply", "a", {"kind": "Gadget"}),
        step("apply", "a", {"apiVersion": "x.example.com/v2"}),
        step("apply", "a", {"apiVersion": None, "kind": None}),
        step("apply", "a", {"spec": "x"}),
    ],
}
