"""Ask a real kube-apiserver what it says of good and bad custom resources,
and keep the answers for the tests.

    python tests/machinery/schema/record_crd_answers.py https://127.0.0.1:6443 TOKEN

It needs a control plane without other users: it replaces the CRD `samples.answers.example.com`. The schema
and the objects are below; `crd_answers.json` gets them together with the answers.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import httpx

GROUP, PLURAL, KIND = "answers.example.com", "samples", "Sample"
ANSWERS = Path(__file__).with_name("crd_answers.json")
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

STRING = {"type": "string"}
PROPERTIES: dict[str, Any] = {
    "text": STRING,
    "name": {"type": "string", "minLength": 2, "maxLength": 5},
    "one": {"type": "string", "maxLength": 1},
    "pattern": {"type": "string", "pattern": r"^v[0-9]+\.[0-9]+$"},
    "mode": {"type": "string", "enum": ["a", "b"]},
    "level": {"type": "integer", "enum": [1, 2]},
    "flag": {"type": "boolean"},
    "plain": {"type": "integer"},
    "small": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100},
    "big": {"type": "integer", "format": "int64"},
    "open": {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "exclusiveMinimum": True,
        "exclusiveMaximum": True,
    },
    "even": {"type": "integer", "multipleOf": 2},
    "ratio": {"type": "number", "minimum": 0.5, "maximum": 1.5, "multipleOf": 0.25},
    "loose": {"type": "number"},
    "when": {"type": "string", "format": "date-time"},
    "day": {"type": "string", "format": "date"},
    "span": {"type": "string", "format": "duration"},
    "data": {"type": "string", "format": "byte"},
    "link": {"type": "string", "format": "uri"},
    "id": {"type": "string", "format": "uuid"},
    "address": {"type": "string", "format": "ipv4"},
    "six": {"type": "string", "format": "ipv6"},
    "net": {"type": "string", "format": "cidr"},
    "host": {"type": "string", "format": "hostname"},
    "port": {"x-kubernetes-int-or-string": True},
    "amount": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY},
    "amounts": {
        "type": "object",
        "additionalProperties": {
            "x-kubernetes-int-or-string": True,
            "pattern": QUANTITY,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
        },
    },
    "words": {"type": "array", "items": STRING, "minItems": 1, "maxItems": 3},
    "single": {"type": "array", "items": STRING, "maxItems": 1},
    "labels": {"type": "object", "additionalProperties": STRING, "minProperties": 1, "maxProperties": 2},
    "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    "env": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": STRING, "value": {"type": "string", "maxLength": 3}},
        },
    },
    "ports": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            "type": "object",
            "required": ["port"],
            "properties": {
                "port": {"type": "integer"},
                "protocol": {"type": "string", "default": "TCP"},
            },
        },
    },
    "maybe": {"type": "string", "nullable": True},
    "maybeMode": {"type": "string", "nullable": True, "enum": ["a"]},
    "nested": {
        "type": "object",
        "required": ["inner", "outer"],
        "properties": {
            "inner": STRING,
            "outer": {"type": "object", "required": ["leaf"], "properties": {"leaf": {"type": "integer"}}},
        },
    },
    "withDefaults": {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "default": 3},
            "list": {"type": "array", "items": STRING, "default": ["x"]},
            "deep": {
                "type": "object",
                "default": {"here": "given"},
                "properties": {"here": STRING, "there": {"type": "string", "default": "filled"}},
            },
            "lazy": {"type": "object", "properties": {"there": {"type": "string", "default": "filled"}}},
            "nullable": {"type": "string", "nullable": True, "default": "d"},
        },
    },
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "half": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"known": {"type": "object", "properties": {"a": STRING}}},
    },
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "embedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "mapOfLists": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    },
}
STATUS = {
    "type": "object",
    "properties": {"phase": {"type": "string", "enum": ["Up", "Down"]}, "count": {"type": "integer"}},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": STRING,
        "kind": STRING,
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": PROPERTIES},
        "status": STATUS,
    },
}
LOOSE: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

VALUES: dict[str, list[Any]] = {
    "text": ["fine", 1, 1.5, True, [], {}, {"a": {"b": 1}}, [{"a": 1}], None],
    "name": ["x", "xxxxxx", "żółć", 'a"\\\n<&>\u2028é\u200b\x7f', 7],
    "one": ["ab"],
    "pattern": ["v1.2", "v1.2\n", "x<y>", 5],
    "mode": ["a", "c", 1, None, ["a"], {"x": 1}],
    "level": [1, 1.0, 3, "1", True],
    "flag": [True, "true", 0],
    "plain": [1, 1.0, 1.5, "1", True, 2**63, 2**53 + 1, 1e30, -(2**63), 2**64, [], {}, 1e15, 1e16],
    "small": [1, 0, -1, 101, 2**31, "1.0", 0.5, 1.0, True, 1e5],
    "big": [2**63 - 1, 2**63, 1.5, True, "x"],
    "open": [1, 9, 5],
    "even": [3, 4, 3.0, 2.5],
    "ratio": [1, 0, 2, 0.3, 0.75, "x", True, 1e-7, 1e21, 123456789012345680000.0],
    "loose": [1, 1.5, "x", True],
    "when": [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.123+01:00",
        "2026-13-02T03:04:05Z",
        "2026-02-30T03:04:05Z",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02t03:04:05z",
        "yesterday",
        "",
        5,
        True,
        [],
        ["x"],
        {},
    ],
    "day": ["2026-01-02", "2026-1-2", "0000-01-01", "x"],
    "span": ["1h30m", "2 days", "1.5h", "-3s", "x", "1", "0", "", "5 w"],
    "data": ["YWJj", "YWI=", "a", "", "!"],
    "link": ["https://example.com/x", "/path", "x", "s3://models/llama", "", "a b", "mailto:x"],
    "id": ["01234567-89ab-cdef-0123-456789ABCDEF", "x"],
    "address": ["1.2.3.4", "01.2.3.4", "1.2.3", "256.1.1.1", "::1"],
    "six": ["::1", "1.2.3.4", "::ffff:1.2.3.4", "fe80::1%eth0"],
    "net": ["10.0.0.0/8", "10.0.0.0", "10.0.0.0/33", "::/0"],
    "host": ["example.com", "a_b", "-a", "localhost", ""],
    "port": [80, "http", 1.5, True, [], 1.0],
    "amount": [1, "1", "500m", "64Gi", "x", "", "1.5.5", 1.5, True, "1e3", "1E", ".5", "5."],
    "amounts": [{"cpu": 1, "memory": "x"}, {"cpu": True}, {"cpu": None}, [], "x"],
    "words": [[], ["a"], ["a", "b", "c", "d"], [1], [None], "a", {"a": 1}, [["a"]], [{"a": "b"}]],
    "single": [["a", "b"]],
    "labels": [
        {},
        {"a": "1"},
        {"a": "1", "b": "2", "c": "3"},
        {"a": 1},
        {"x.y/z": 1},
        {"a": None},
        {"a": {"b": 1}},
    ],
    "tags": [["a", "b"], ["a", "a"], ["a", "b", "a", "b", "a"], [1, 1], [None, None]],
    "env": [
        [{"name": "a"}, {"name": "b"}],
        [{"name": "a"}, {"name": "a"}, {"name": "a"}],
        [{}],
        [{}, {}],
        ["a"],
        [None],
        [{"name": "a", "value": "long"}],
        [{"name": "a", "bar": 1}],
        [{"name": 1}, {"name": "1"}, {"name": True}],
    ],
    "ports": [
        [{"port": 1}, {"port": 1, "protocol": "UDP"}],
        [{"port": 1}, {"port": 1, "protocol": "TCP"}],
        [{"protocol": "UDP"}],
    ],
    "maybe": [None, "x", 1],
    "maybeMode": [None, "a", "b"],
    "nested": [
        {},
        {"inner": "x"},
        {"inner": "x", "outer": {}},
        {"inner": "x", "outer": {"leaf": "1"}},
        {"inner": None, "outer": None},
        {"inner": "x", "outer": {"leaf": 1}, "foo": 1},
    ],
    "withDefaults": [
        {},
        {"count": None, "list": None, "deep": None, "lazy": None, "nullable": None},
        {"deep": {}, "lazy": {}, "list": []},
        {"deep": {"there": "mine", "x": 1}},
        [],
    ],
    "free": [{"x": {"y": [1, None]}}, {"x": None}, 1, []],
    "half": [{"x": {"y": 1}, "known": {"a": "1", "b": 2}}, {"known": {"a": None}}],
    "any": [1, None, "x", {"a": 1}, [1]],
    "embedded": [
        {"apiVersion": "v1", "kind": "Pod", "x": 1},
        {},
        {"apiVersion": "", "kind": ""},
        {"apiVersion": "a/b/c", "kind": "p_d"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}},
    ],
    "mapOfLists": [{"a/b": ["x", "x"]}, {"a": [1]}],
    "unknown": [1, {"a": 1}],
}
UPDATES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"name": "x"}, {"name": "x", "text": "new"}),
    ({"name": "x"}, {"name": "y"}),
    ({"name": "x", "mode": "c"}, {"name": "x", "mode": "d"}),
    ({"nested": {"inner": "a"}}, {"nested": {"inner": "a"}, "text": "new"}),
    ({"nested": {"inner": "a"}}, {"nested": {"inner": "b"}}),
    ({"words": [1]}, {"words": [1], "text": "new"}),
    ({"words": [1]}, {"words": [1, 2]}),
    ({"words": []}, {"words": [], "text": "new"}),
    (
        {"env": [{"name": "a", "value": "long"}, {"name": "b"}]},
        {"env": [{"name": "b", "value": "x"}, {"name": "a", "value": "long"}]},
    ),
    ({"env": [{"name": "a", "value": "long"}]}, {"env": [{"name": "a", "value": "longer"}]}),
    ({"env": [{"name": "a", "value": "long"}]}, {"env": [{"name": "c", "value": "long"}]}),
    ({"env": [{"name": "a"}, {"name": "a"}]}, {"env": [{"name": "a"}, {"name": "a"}], "text": "new"}),
    ({"tags": ["a", "a"]}, {"tags": ["b", "b"]}),
    ({"labels": {"a": 1, "b": "x"}}, {"labels": {"a": 1, "b": "y"}}),
    ({"labels": {"a": 1, "b": "x"}}, {"labels": {"a": 2, "b": "x"}}),
    ({"plain": 1.5}, {"plain": 1.5, "text": "new"}),
    ({"plain": 1.5}, {"plain": 2.5, "text": "new"}),
    ({"embedded": {"x": 1}}, {"embedded": {"x": 1}, "text": "new"}),
]
STATUSES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"phase": "Up", "count": 1}),
    ({}, {"phase": "Sideways", "count": "1"}),
    ({"phase": "Sideways"}, {"phase": "Sideways", "count": 1}),
    ({"phase": "Sideways"}, {"phase": "Down", "count": None, "extra": {"a": 1}}),
    ({"phase": "Up"}, {"count": 1.5}),
]
WHOLE: list[dict[str, Any]] = [
    {},
    {"spec": None},
    {"spec": []},
    {"spec": {}, "status": {"phase": "Sideways"}},
    {"spec": {"text": 1, "plain": "x", "nested": {}}, "extra": 1},
]


class Server:
    """The few requests that are needed."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self.client = httpx.Client(base_url=url, headers=headers, verify=False, timeout=30)

    def install(self, schema: dict[str, Any]) -> None:
        """Make the CRD have this schema, and wait until it is in force."""
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        names = {"plural": PLURAL, "singular": "sample", "kind": KIND, "listKind": f"{KIND}List"}
        body = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{PLURAL}.{GROUP}"},
            "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
        }
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{PLURAL}.{GROUP}"
        patch = {"Content-Type": "application/apply-patch+yaml"}
        answer = self.client.patch(
            f"{path}?fieldManager=record&force=true", content=json.dumps(body), headers=patch
        )
        answer.raise_for_status()
        time.sleep(3)

    def send(self, method: str, name: str, body: dict[str, Any], query: str = "") -> httpx.Response:
        """Create or update one object."""
        path = (
            f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}" + (f"/{name}" if method == "PUT" else "") + query
        )
        whole = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {"name": name}, **body}
        return self.client.request(method, path, json=whole)


def tell(answer: httpx.Response) -> dict[str, Any]:
    """What the tests compare."""
    body = answer.json()
    told: dict[str, Any] = {"code": answer.status_code, "warnings": answer.headers.get_list("warning")}
    if answer.status_code < 300:
        told["object"] = {
            key: value for key, value in body.items() if key not in ("metadata", "apiVersion", "kind")
        }
    else:
        told["message"] = body["message"]
        told["causes"] = body.get("details", {}).get("causes", [])
    return told


def main(url: str, token: str) -> None:
    """Record everything."""
    server = Server(url, token)
    server.install(LOOSE)
    created = []
    for position, (old, _new) in enumerate(UPDATES):
        server.client.delete(f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}/u{position}")
        created.append(server.send("POST", f"u{position}", {"spec": old}).json())
    for position, (old, _new) in enumerate(STATUSES):
        server.client.delete(f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}/s{position}")
        created.append(server.send("POST", f"s{position}", {"spec": {"name": "x"}}).json())
        whole = {**created[-1], "status": old}
        path = f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}/s{position}/status"
        created[-1] = server.client.put(path, json=whole).json()
    server.install(SCHEMA)
    answers: dict[str, Any] = {"schema": SCHEMA, "creates": [], "strict": [], "updates": [], "statuses": []}
    objects = [*WHOLE, *({"spec": {key: value}} for key, values in VALUES.items() for value in values)]
    for obj in objects:
        told = tell(server.send("POST", "x", obj, "?dryRun=All"))
        answers["creates"].append({"object": obj, "answer": told})
        if told["warnings"]:
            strict = tell(server.send("POST", "x", obj, "?dryRun=All&fieldValidation=Strict"))
            answers["strict"].append({"object": obj, "answer": strict})
    for position, (old, new) in enumerate(UPDATES):
        version = created[position]["metadata"]["resourceVersion"]
        body = {"spec": new, "metadata": {"name": f"u{position}", "resourceVersion": version}}
        told = tell(server.send("PUT", f"u{position}", body, "?dryRun=All"))
        answers["updates"].append({"old": {"spec": old}, "object": {"spec": new}, "answer": told})
    for position, (old, new) in enumerate(STATUSES):
        whole = {**created[len(UPDATES) + position], "status": new}
        path = f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}/s{position}/status?dryRun=All"
        told = tell(server.client.put(path, json=whole))
        spec = {"name": "x"}
        answers["statuses"].append(
            {"old": {"spec": spec, "status": old}, "object": {"spec": spec, "status": new}, "answer": told}
        )
    ANSWERS.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
