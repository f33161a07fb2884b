"""Requests out of an OpenAPI v3 document: nearly right, because what is plainly wrong is refused early.

One seed is one sequence. Values come from the schema, from what earlier answers held (names, revisions,
continue tokens), and from a list of things that break programs.
"""

from __future__ import annotations

import base64
import copy
import gzip
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_from_bytes

import orjson
import yaml

from .target import Answer, Attempt

Schema = Mapping[str, Any]

JSON = b"application/json"
YAML = b"application/yaml"
PATCHES = (b"application/json-patch+json", b"application/merge-patch+json", b"application/apply-patch+yaml")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "")
NAMES = ("a", "b", "c", "llama", "x-1", "y.z")
ODD_TEXTS = (
    "",
    " ",
    "0",
    "-1",
    "..",
    ".",
    "/",
    "%",
    "%2F",
    "a/b",
    "a\x00b",
    "a\nb",
    "\ud7ff\ue000",
    "ñ",
    "٣",
    "²",
    "🙂" * 3,
    "A" * 64,
    "a" * 254,
    "x" * 5000,
    "9" * 25,
    "9" * 5000,
    "1e400",
    "NaN",
    "null",
    "true",
    "[]",
    "{}",
    "a,b",
    "a=b",
    "$(X)",
    "{{.}}",
    "<script>",
    "' or 1=1 --",
    "~1~0~",
    "k8s.io/x",
    "-----BEGIN",
    "2026-01-01T00:00:00Z",
    "9999-99-99T99:99:99Z",
    "1Gi",
    "-5m",
    "1e30Ki",
    "\\",
    '"',
    "__proto__",
    "__class__",
)
ODD_NUMBERS = (
    0,
    -1,
    1,
    2**31,
    -(2**31),
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**30,
    0.5,
    1e308,
    -0.0,
    1e-320,
)
ODD_VALUES = (None, True, False, [], {}, [[]], [None], {"": None}, [{}], {"a": {"b": []}}, [[[[[[]]]]]])
SELECTORS = (
    "a=b",
    "a in (b,c)",
    "a notin (b)",
    "!a",
    "a",
    "a!=b,c in ()",
    "a>1",
    "a<x",
    "a in (",
    ",,",
    "(((",
    "a in (b),,",
    "metadata.name=a",
    "metadata.name!=a",
    "metadata.namespace=ml",
    "status.phase=Ready",
    "spec.priority=0",
    "spec.image=x",
    "metadata.name=a,metadata.name=b",
    "metadata.name=%2e%2e",
    "metadata.name=a\\",
    "x.y/z=w",
    "=",
    "==",
    "a=" + "b" * 300,
    "a in (" + ",".join(map(str, range(2000))) + ")",
)
ACCEPTS = (
    b"",
    b"*/*",
    JSON,
    YAML,
    b"application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    b"application/json;as=Table;v=v1;g=meta.k8s.io",
    b"application/yaml;as=Table;v=v1;g=meta.k8s.io",
    b"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    b"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    b"application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
    b"application/json;as=Nothing;v=v9;g=x",
    b"application/vnd.kubernetes.protobuf",
    b"application/vnd.kubernetes.protobuf,application/json;q=0.1",
    b"application/cbor",
    b"application/json;stream=watch",
    b"application/json;q=nan, */*;q=inf, ,;,;;==/",
    b"text/html",
    b"application/json;pretty=1",
    b"\xff\xfe/\x80",
    b"application/json," * 500,
)
ODD_REVISIONS = ("0", "", "1", "-1", "999999999999", "²", "01", "1.0", "9" * 30)
_NUMBERS = ("1", "2", "0", "-1", "500", "9" * 18, "9" * 19, "+1", "x", "1.5")
PARAMETERS = {
    "resourceVersionMatch": ("Exact", "NotOlderThan", ""),
    "timeoutSeconds": _NUMBERS,
    "limit": _NUMBERS,
    "gracePeriodSeconds": _NUMBERS,
    "timeout": ("1s", "1ms", "0", "-1s", "1h", "9" * 30 + "h", "1e5s", "1ns"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "strict"),
    "dryRun": ("All", "All", "", "None"),
    "propagationPolicy": ("Foreground", "Background", "Orphan"),
    "includeObject": ("None", "Object", "Metadata", "x"),
    "fieldManager": ("m", "n", "m", "kubectl", "é", "x" * 129),
}
POINTERS = (
    *(
        "",
        "/",
        "/-",
        "/kind",
        "/apiVersion",
        "/status",
        "/spec",
        "/spec/image",
        "/spec/args/-",
        "/spec/args/0",
    ),
    *("/spec/env/-", "/spec/podTemplate", "/metadata", "/metadata/name", "/metadata/labels/a~1b"),
    *("/metadata/labels", "/metadata/managedFields", "/metadata/finalizers/-", "/metadata/resourceVersion"),
)
CONTENT_TYPES = (
    JSON,
    YAML,
    *PATCHES,
    b"application/strategic-merge-patch+json",
    b"text/plain",
    b"",
    b"\xff",
    b";;;",
)
AGENTS = (b"kubectl/v1.36.3 (linux/amd64)", b"curl/8", b"", b"a\xffb/1", b"x" * 300, b"/", b"Mozilla/5.0")


@dataclass
class Memory:
    """What earlier answers taught, of each kind the last few."""

    revisions: list[str] = field(default_factory=lambda: ["1"])
    tokens: list[str] = field(default_factory=list)
    uids: list[str] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)

    def learn(self, answer: Answer) -> None:
        """Take what is useful from an answer."""
        if not answer.body.startswith(b'{"') or len(answer.body) > 100_000:
            return
        try:
            document = answer.json()
        except ValueError:
            return
        if not isinstance(document, dict):
            return
        meta = document.get("metadata") or {}
        for value, known in (
            (meta.get("resourceVersion"), self.revisions),
            (meta.get("continue"), self.tokens),
            (meta.get("uid"), self.uids),
        ):
            if value:
                known.append(value)
                del known[:-20]
        if document.get("kind") in {"InferenceJob", "GPUNode", "Scale"}:
            self.objects.append(document)
            del self.objects[:-20]


@dataclass(frozen=True)
class Operation:
    """One operation of the document."""

    method: str
    path: str
    parameters: tuple[Schema, ...]
    body: Schema | None


def operations(document: Schema) -> Iterator[Operation]:
    """All operations of a document."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            parameters = (*item.get("parameters", ()), *operation.get("parameters", ()))
            content = (operation.get("requestBody") or {}).get("content") or {}
            body = next((media.get("schema") for media in content.values()), None)
            yield Operation(method.upper(), path, parameters, body)


class Generator:
    """Makes attempts for operations of some documents."""

    def __init__(self, documents: list[Schema], seed: int) -> None:
        self._random = random.Random(seed)
        self._schemas: dict[str, Schema] = {}
        for document in documents:
            self._schemas.update(document["components"]["schemas"])
        self._operations = [operation for document in documents for operation in operations(document)]
        self._objects = {
            path: schema
            for operation in self._operations
            if operation.method in {"POST", "PUT"} and (path := operation.path.rsplit("/{name}")[0])
            for schema in [operation.body]
            if schema is not None
        }
        self.memory = Memory()

    def attempt(self) -> Attempt:
        """The next attempt."""
        pick, operation = self._random, self._random.choice(self._operations)
        if operation.method == "DELETE" and pick.random() < 0.6:
            operation = pick.choice(self._operations)  # else hardly anything is ever found
        method = pick.choice(METHODS) if pick.random() < 0.04 else operation.method
        path = self._path(operation.path)
        query = self._query(operation)
        headers = self._headers()
        body = b""
        if method in {"POST", "PUT", "PATCH", "DELETE"} and pick.random() < 0.97:
            content_type, body = self._body(method, operation)
            headers.append((b"content-type", content_type))
            if pick.random() < 0.02:
                body = gzip.compress(body)
                headers.append((b"content-encoding", b"gzip"))
        return Attempt(method, path, query, tuple(headers), body)

    def _path(self, template: str) -> str:
        pick = self._random
        namespace = "ml" if pick.random() < 0.9 else self._odd_text()
        name = pick.choice(NAMES) if pick.random() < 0.9 else self._odd_text()
        path = template.replace("{namespace}", namespace).replace("{name}", name)
        if pick.random() < 0.03:
            at = pick.randrange(len(path) + 1)
            path = path[:at] + pick.choice(("/", "//", "..", "%", "/watch/", "\x00", "/../", "?")) + path[at:]
        return path if path.startswith("/") else f"/{path}"

    # Parameters

    def _query(self, operation: Operation) -> bytes:
        pick = self._random
        declared = [item["name"] for item in operation.parameters if item.get("in") == "query"]
        parts = []
        for name in declared:
            likely = 0.6 if name == "fieldManager" else 0.2
            if pick.random() < likely:
                parts.append((name, self._parameter(name)))
        if pick.random() < 0.1:
            known = (
                "pretty",
                "timeout",
                "includeObject",
                "export",
                "force",
                "watch",
                "dryRun",
                "x",
                "limit",
                "continue",
            )
            name = pick.choice(known)
            parts.append((name, self._parameter(name)))
        if pick.random() < 0.05 and parts:
            parts.append(pick.choice(parts))
        text = "&".join(
            f"{quote(name)}={quote_from_bytes(value.encode('utf-8', 'replace'))}" for name, value in parts
        )
        if pick.random() < 0.03:
            text += pick.choice(
                ("&", "&&&", "&%", "&;", "&=", "&a=%zz", "&watch", "&%ff=%fe", "&" + "a" * 5000)
            )
        return text.encode()

    def _parameter(self, name: str) -> str:
        pick = self._random
        if pick.random() < 0.15:
            return self._odd_text()
        if name in {"labelSelector", "fieldSelector"}:
            return pick.choice(SELECTORS)
        if name == "resourceVersion":
            return pick.choice((*self.memory.revisions, *ODD_REVISIONS))
        if name == "continue":
            return self._token()
        return pick.choice(PARAMETERS.get(name, ("true", "false", "1", "0", "", "x")))

    def _token(self) -> str:
        pick = self._random
        if self.memory.tokens and pick.random() < 0.5:
            return pick.choice(self.memory.tokens)
        revision = pick.choice(
            (-1, -2, 0, 1, 5, 2**63 - 1, -(2**63), 2**64, 10**40, "1", 1.5, None, True, [])
        )
        start = pick.choice(
            (
                "a\x00",
                "",
                "../x",
                "a/b",
                "/",
                "\ud800",
                "x" * 5000,
                "\x00",
                7,
                None,
                "é",
                "../../ai.example.com/",
            )
        )
        version = pick.choice(("meta.k8s.io/v1", "meta.k8s.io/v1", "v1", "", None, 3))
        document = pick.choice(({"v": version, "rv": revision, "start": start}, [], "x", None, {}))
        encoded = base64.urlsafe_b64encode(json.dumps(document).encode()).decode()
        return pick.choice(
            (encoded, encoded.rstrip("="), encoded[:-3], encoded + "é", encoded + "\n", "=" * 9)
        )

    def _headers(self) -> list[tuple[bytes, bytes]]:
        pick = self._random
        headers = [(b"host", b"server")]
        if pick.random() < 0.25:
            headers.append((b"accept", pick.choice(ACCEPTS)))
        if pick.random() < 0.7:
            headers.append((b"user-agent", pick.choice(AGENTS)))
        if pick.random() < 0.1:
            headers.append((b"accept-encoding", pick.choice((b"gzip", b"gzip;q=0", b"*", b"br", b",,"))))
        if pick.random() < 0.05:
            headers.append((b"audit-id", pick.choice((b"abc", b"\xff" * 10, b"x" * 9000, b"<x>", b""))))
        if pick.random() < 0.05:
            name = pick.choice(
                (b"impersonate-user", b"impersonate-group", b"impersonate-extra-a%zz", b"impersonate-uid")
            )
            headers.append(
                (name, pick.choice((b"", b"bob", b"\xff", b"system:serviceaccount:a:b", b"system:masters")))
            )
        if pick.random() < 0.03:
            headers.append((b"if-none-match", pick.choice((b"*", b'"x"', b"\xff"))))
        return headers

    # Bodies

    def _body(self, method: str, operation: Operation) -> tuple[bytes, bytes]:
        pick = self._random
        schema = self._objects.get(operation.path.rsplit("/{name}")[0], {})
        if method == "DELETE":
            if pick.random() < 0.6:
                return JSON, b""
            value: Any = self._from_schema(operation.body or {})
        elif method == "PATCH":
            return self._patch(schema)
        else:
            value = self._object(schema)
        content_type = pick.choice((JSON, JSON, JSON, YAML, JSON + b"; charset=utf-8"))
        if pick.random() < 0.03:
            content_type = pick.choice(CONTENT_TYPES)
        text = self._spoil(self._encode(value, content_type))
        return content_type, text

    def _patch(self, schema: Schema) -> tuple[bytes, bytes]:
        pick = self._random
        content_type = pick.choice(PATCHES)
        if content_type == PATCHES[0]:
            value: Any = [self._step(schema) for _ in range(pick.choice((0, 1, 1, 2, 5)))]
        elif content_type == PATCHES[1]:
            whole = self._object(schema)
            keys = [key for key in whole if pick.random() < 0.5]
            value = {key: whole[key] if pick.random() < 0.9 else None for key in keys}
        else:
            value = self._object(schema)
            if pick.random() < 0.9 and isinstance(value.get("metadata"), dict):
                value["metadata"] = {
                    key: value["metadata"][key] for key in value["metadata"] if key == "labels"
                }
        sent = content_type if pick.random() < 0.97 else pick.choice(CONTENT_TYPES)
        return sent, self._spoil(self._encode(value, YAML if content_type == PATCHES[2] else JSON))

    def _step(self, schema: Schema) -> Any:
        pick = self._random
        if pick.random() < 0.03:
            return pick.choice(ODD_VALUES)
        step = {
            "op": pick.choice(("add", "remove", "replace", "move", "copy", "test", "x")),
            "path": self._pointer(),
            "from": self._pointer(),
            "value": pick.choice((self._odd(), self._from_schema(schema), "x", 1, {"a": "b"})),
        }
        return {key: value for key, value in step.items() if pick.random() < 0.93}

    def _pointer(self) -> str:
        pick = self._random
        if pick.random() < 0.5:
            return pick.choice(POINTERS)
        parts = ("a", "0", "-", "~", "~2", "-1", "9" * 20, "spec", "")
        return "".join(f"/{pick.choice(parts)}" for _ in range(pick.randint(0, 6)))

    def _object(self, schema: Schema) -> dict[str, Any]:
        """An object that is nearly right: what was answered before, or one anew; a few places spoilt."""
        pick = self._random
        if self.memory.objects and pick.random() < 0.3:
            value = orjson.loads(orjson.dumps(pick.choice(self.memory.objects)))
        else:
            value = self._from_schema(schema)
            if not isinstance(value, dict):
                value = {}
            if pick.random() < 0.9:
                value["kind"], value["apiVersion"] = self._identity(schema)
            value["metadata"] = self._metadata()
            spec = value.get("spec")
            if isinstance(spec, dict) and "image" not in spec and pick.random() < 0.9:
                spec["image"] = "registry.example.com/a:1"
        while pick.random() < 0.15:
            self._mutate(value)
        return value

    def _identity(self, schema: Schema) -> tuple[str, str]:
        found = self._resolve(schema).get("x-kubernetes-group-version-kind") or [{}]
        gvk = found[0]
        return gvk.get(
            "kind", "InferenceJob"
        ), f"{gvk.get('group', 'ai.example.com')}/{gvk.get('version', 'v1')}"

    def _metadata(self) -> Any:
        pick = self._random
        if pick.random() < 0.03:
            return self._odd()
        meta: dict[str, Any] = {"name": pick.choice(NAMES)}
        extra = {
            "generateName": lambda: pick.choice(("g-", "x" * 70, "")),
            "namespace": lambda: pick.choice(("ml", "other")),
            "labels": lambda: pick.choice(
                ({"a": "b"}, {"a/b": "c", "d": ""}, {"": "x"}, {"a": "x" * 64}, {"a": 1})
            ),
            "annotations": lambda: pick.choice(({"a": "b"}, {"a": "x" * 300_000}, {"a": None}, [])),
            "finalizers": lambda: pick.choice((["a/b"], ["a/b", "a/b"], ["orphan"], ["x"], [""])),
            "ownerReferences": lambda: [self._owner() for _ in range(pick.randint(0, 3))],
            "resourceVersion": lambda: pick.choice(
                (*self.memory.revisions, "", "0", "²", "9" * 5000, "x", 1)
            ),
            "uid": lambda: pick.choice((*self.memory.uids, "x", "")),
            "managedFields": lambda: pick.choice(
                (
                    [{}],
                    [],
                    None,
                    [{"manager": "m", "operation": "Apply"}],
                    [self._managed()],
                    [self._managed()] * 3,
                    "x",
                )
            ),
            "creationTimestamp": lambda: pick.choice((None, "2026-01-01T00:00:00Z", "x", 1)),
            "deletionTimestamp": lambda: pick.choice((None, "2026-01-01T00:00:00Z")),
            "generation": lambda: pick.choice(ODD_NUMBERS),
            "selfLink": lambda: "x",
            "nonsense": lambda: 1,
        }
        for name, make in extra.items():
            if pick.random() < 0.08:
                meta[name] = make()
        return meta

    def _owner(self) -> Any:
        pick = self._random
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
        if pick.random() < 0.3:
            owner.pop(pick.choice(list(owner)))
        return owner if pick.random() < 0.9 else self._odd()

    def _managed(self) -> Any:
        pick = self._random
        return {
            "manager": pick.choice(("m", "n", "", "x" * 200)),
            "operation": pick.choice(("Apply", "Update", "x")),
            "apiVersion": pick.choice(("ai.example.com/v1", "ai.example.com/v1alpha1", "v9", "a/b/c", "")),
            "time": pick.choice(("2026-01-01T00:00:00Z", None, "x", 1)),
            "fieldsType": pick.choice(("FieldsV1", "", "FieldsV2")),
            "fieldsV1": pick.choice(
                (
                    {"f:spec": {"f:image": {}}},
                    {"f:spec": {".": {}, 'k:{"name":"A"}': {}, "v:1": {}, "i:0": {}}},
                    {"k:{": {}},
                    {"x": {}},
                    {"v:": {}},
                    {"i:x": {}},
                    {"f:a": 1},
                    [],
                    "x",
                    None,
                )
            ),
            "subresource": pick.choice(("", "status", "scale", "x")),
        }

    def _mutate(self, value: Any) -> None:
        """Change one place, wherever it is."""
        pick = self._random
        node = value
        while isinstance(node, dict | list) and node:
            key = pick.choice(list(node)) if isinstance(node, dict) else pick.randrange(len(node))
            below = node[key]
            if not isinstance(below, dict | list) or not below or pick.random() < 0.3:
                change = pick.random()
                if change < 0.15:
                    del node[key]
                elif change < 0.25 and isinstance(node, list):
                    node.append(below)
                elif change < 0.3 and isinstance(node, dict):
                    node[self._odd_text()] = self._odd()
                else:
                    node[key] = self._odd()
                return
            node = below

    def _from_schema(self, schema: Schema, depth: int = 0) -> Any:
        """A value that nearly fits a schema."""
        pick, schema = self._random, self._resolve(schema)
        if pick.random() < 0.004:
            return self._odd()
        if "enum" in schema and pick.random() < 0.9:
            return pick.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return pick.choice((1, "1", "50%", "1Gi"))
        if "default" in schema and pick.random() < 0.3:
            return schema["default"]
        match schema.get("type"):
            case "object":
                return self._mapping(schema, depth)
            case "array":
                count = pick.choice((0, 1, 1, 2, 3)) if depth < 8 else 0
                return [self._from_schema(schema.get("items") or {}, depth + 1) for _ in range(count)]
            case "string":
                return self._string(schema)
            case "integer":
                low, high = schema.get("minimum", 0), schema.get("maximum", 8)
                return (
                    pick.choice(ODD_NUMBERS)
                    if pick.random() < 0.03
                    else pick.randint(int(low), max(int(low), min(int(high), 8)))
                )
            case "number":
                return pick.choice((0.5, 1, 2.0))
            case "boolean":
                return pick.random() < 0.5
        return self._odd() if pick.random() < 0.3 else {}

    def _mapping(self, schema: Schema, depth: int) -> dict[str, Any]:
        pick = self._random
        required = set(schema.get("required", ()))
        likely = 0.25 if depth < 3 else 0.1
        found = {
            name: self._from_schema(below, depth + 1)
            for name, below in (schema.get("properties") or {}).items()
            if name not in {"kind", "apiVersion", "metadata"} or depth
            if name in required or (depth < 9 and pick.random() < likely)
        }
        additional = schema.get("additionalProperties")
        if isinstance(additional, Mapping):
            found.update(
                {
                    pick.choice(NAMES): self._from_schema(additional, depth + 1)
                    for _ in range(pick.randint(0, 2))
                }
            )
        return found

    def _string(self, schema: Schema) -> str:
        pick = self._random
        if pick.random() < 0.04:
            return self._odd_text()
        if schema.get("format") == "date-time":
            return "2026-06-01T00:00:00Z"
        return pick.choice(
            ("a", "registry.example.com/a:1", "nvidia.com/gpu", "s3://x/y", "1", "A", "OnFailure")
        )

    def _resolve(self, schema: Schema) -> Schema:
        for _ in range(10):
            reference = schema.get("$ref")
            if reference is None and len(schema.get("allOf", ())) == 1:
                reference = schema["allOf"][0].get("$ref")
            if reference is None:
                return schema
            schema = self._schemas[reference.rsplit("/", 1)[1]]
        return {}

    def _odd(self) -> Any:
        kind = self._random.randrange(3)
        return copy.deepcopy(self._random.choice((ODD_TEXTS, ODD_NUMBERS, ODD_VALUES)[kind]))

    def _odd_text(self) -> str:
        return self._random.choice(ODD_TEXTS)

    def _encode(self, value: Any, content_type: bytes) -> bytes:
        if content_type == YAML and self._random.random() < 0.7:
            return yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "replace")
        return json.dumps(value).encode()

    def _spoil(self, text: bytes) -> bytes:
        """Break a few of the texts themselves."""
        pick = self._random
        if not text or pick.random() > 0.06:
            return text
        at = pick.randrange(len(text))
        change = pick.randrange(6)
        if change == 0:
            return text[:at]
        if change == 1:
            return (
                text[:at]
                + pick.choice((b"\x00", b"\xff", b'"', b"}", b"\\ud800", b"\n", b"*a", b"&a", b"<<: "))
                + text[at:]
            )
        if change == 2:
            return text + text
        if change == 3:
            return b"\xef\xbb\xbf" + text
        if change == 4:
            return text.decode("utf-8", "replace").encode("utf-16")
        return b" " * 2000 + text
