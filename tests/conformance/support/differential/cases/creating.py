"""POST: what is accepted, what is refused and in which words, and what the server adds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from differential.case import YAML, Case, Kubectl, Request, apply, create, get, job, list_, without

YAML_JOB = "apiVersion: ${gv}\nkind: InferenceJob\nmetadata:\n  name: a\nspec:\n  image: i\n"

SPEC_ERRORS: dict[str, Any] = {
    "gpu count zero": {"gpuCount": 0},
    "gpu count negative": {"gpuCount": -1},
    "gpu count fraction": {"gpuCount": 0.5},
    "gpu count whole float": {"gpuCount": 2.0},
    "gpu count string": {"gpuCount": "1"},
    "gpu count boolean": {"gpuCount": True},
    "gpu count null": {"gpuCount": None},
    "gpu count over int32": {"gpuCount": 2**31},
    "gpu count over int64": {"gpuCount": 2**63},
    "gpu count exponent": {"gpuCount": 1e3},
    "image missing": {"image": None},
    "image empty": {"image": ""},
    "image number": {"image": 1},
    "image list": {"image": ["a"]},
    "image object": {"image": {"a": 1}},
    "image with a space": {"image": "a b"},
    "image too long": {"image": "x" * 1025},
    "model no scheme": {"model": "models"},
    "gpu resource without domain": {"gpuResource": "gpu"},
    "gpu resource empty": {"gpuResource": ""},
    "products duplicate": {"gpuProducts": ["A", "A"]},
    "products not strings": {"gpuProducts": [1, True]},
    "products a string": {"gpuProducts": "A"},
    "products too many": {"gpuProducts": [f"P{i}" for i in range(33)]},
    "products bad item": {"gpuProducts": ["ok", "not ok"]},
    "products empty": {"gpuProducts": []},
    "products null": {"gpuProducts": None},
    "products null item": {"gpuProducts": [None]},
    "replicas zero": {"replicas": 0},
    "replicas too many": {"replicas": 1001},
    "restart policy unknown": {"restartPolicy": "Sometimes"},
    "restart policy empty": {"restartPolicy": ""},
    "restart policy number": {"restartPolicy": 3},
    "backoff negative": {"backoffLimit": -1},
    "deadline zero": {"activeDeadlineSeconds": 0},
    "priority too high": {"priority": 1_000_000_001},
    "suspend string": {"suspend": "true"},
    "suspend number": {"suspend": 1},
    "env duplicate names": {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
    "env without name": {"env": [{"value": "1"}]},
    "env null item": {"env": [None]},
    "env an object": {"env": {"A": "1"}},
    "env value number": {"env": [{"name": "A", "value": 1}]},
    "env name with equals": {"env": [{"name": "A=B"}]},
    "env secret without key": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]},
    "command not a list": {"command": "run"},
    "command null item": {"command": ["a", None]},
    "resources bad quantity": {"resources": {"cpu": "lots"}},
    "resources number": {"resources": {"cpu": 2}},
    "resources fraction": {"resources": {"cpu": 0.5}},
    "resources boolean": {"resources": {"cpu": True}},
    "resources null value": {"resources": {"cpu": None}},
    "node selector number": {"nodeSelector": {"a": 1}},
    "toleration bad operator": {"tolerations": [{"operator": "Maybe"}]},
    "scratch without size": {"scratch": {}},
    "scratch bad size": {"scratch": {"size": "big"}},
    "pod template string": {"podTemplate": "x"},
    "several at once": {"gpuCount": 0, "replicas": 0, "restartPolicy": "Sometimes", "image": ""},
    "types and values at once": {"gpuCount": "x", "replicas": 0},
}

UNKNOWN: dict[str, dict[str, Any]] = {
    "top": job(extra=1),
    "spec": job(spec={"extra": 1}),
    "nested": job(spec={"env": [{"name": "A", "extra": 1}], "scratch": {"size": "1Gi", "extra": {}}}),
    "metadata": job(meta={"extra": 1}),
    "owner": job(
        meta={"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "x": 1}]}
    ),
    "status": job(status={"extra": 1}),
    "several": job(spec={"zz": 1, "aa": 2}, extra=True),
    "inside pod template": job(spec={"podTemplate": {"spec": {"anything": {"goes": [1, None]}}}}),
    "case differs": job(spec={"GPUCount": 2}),
}

METADATA: dict[str, Any] = {
    "name empty": {"name": ""},
    "name upper case": {"name": "Abc"},
    "name underscore": {"name": "a_b"},
    "name dots": {"name": "a.b"},
    "name leading dash": {"name": "-a"},
    "name too long": {"name": "a" * 254},
    "name longest": {"name": "a" * 253},
    "name slash": {"name": "a/b"},
    "name percent": {"name": "a%b"},
    "name dot dot": {"name": ".."},
    "name number": {"name": 1},
    "name null": {"name": None},
    "generate name": {"name": None, "generateName": "gen-"},
    "generate name long": {"name": None, "generateName": "g" * 80},
    "generate name bad": {"name": None, "generateName": "Gen_"},
    "name and generate name": {"generateName": "gen-"},
    "namespace other": {"namespace": "other"},
    "namespace same": {"namespace": "${ns}"},
    "labels": {"labels": {"a": "b", "example.com/x": "", "a.b-c_d": "E"}},
    "label key bad": {"labels": {"-a": "b"}},
    "label key empty": {"labels": {"": "b"}},
    "label key two slashes": {"labels": {"a/b/c": "d"}},
    "label prefix bad": {"labels": {"UPPER.com/a": "b"}},
    "label value bad": {"labels": {"a": "b c"}},
    "label value too long": {"labels": {"a": "b" * 64}},
    "label value number": {"labels": {"a": 1}},
    "label value null": {"labels": {"a": None}},
    "labels list": {"labels": ["a"]},
    "labels null": {"labels": None},
    "annotations": {"annotations": {"a": "anything at all ü", "example.com/b": ""}},
    "annotation key bad": {"annotations": {"a b": "c"}},
    "annotation key upper case prefix": {"annotations": {"Example.com/A": "c"}},
    "annotation value number": {"annotations": {"a": 1}},
    "annotations too big": {"annotations": {"a": "x" * (256 * 1024 + 1)}},
    "annotations null": {"annotations": None},
    "finalizers": {"finalizers": ["example.com/a", "example.com/b"]},
    "finalizer without slash": {"finalizers": ["abc"]},
    "finalizer bad": {"finalizers": ["not a name/x"]},
    "finalizer empty": {"finalizers": [""]},
    "finalizers both kinds": {"finalizers": ["orphan", "foregroundDeletion"]},
    "finalizers duplicate": {"finalizers": ["example.com/a", "example.com/a"]},
    "finalizers string": {"finalizers": "a"},
    "finalizers null": {"finalizers": None},
    "uid given": {"uid": "11111111-1111-1111-1111-111111111111"},
    "generation given": {"generation": 7},
    "generation string": {"generation": "7"},
    "creation time given": {"creationTimestamp": "2001-01-01T00:00:00Z"},
    "creation time bad": {"creationTimestamp": "yesterday"},
    "creation time null": {"creationTimestamp": None},
    "deletion time given": {"deletionTimestamp": "2001-01-01T00:00:00Z"},
    "deletion grace given": {"deletionGracePeriodSeconds": 3},
    "self link given": {"selfLink": "/x"},
    "resource version given": {"resourceVersion": "1"},
    "resource version number": {"resourceVersion": 1},
    "managed fields given": {
        "managedFields": [{"manager": "x", "operation": "Update", "apiVersion": "${gv}"}]
    },
    "managed fields empty": {"managedFields": []},
    "managed fields empty entry": {"managedFields": [{}]},
    "managed fields bad operation": {"managedFields": [{"manager": "x", "operation": "Make"}]},
}

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "11111111-1111-1111-1111-111111111111"}
OWNERS: dict[str, Any] = {
    "one": [OWNER],
    "controller": [{**OWNER, "controller": True, "blockOwnerDeletion": True}],
    "two controllers": [
        {**OWNER, "controller": True},
        {**OWNER, "name": "d", "uid": "u2", "controller": True},
    ],
    "duplicate": [OWNER, OWNER],
    "no uid": [without(OWNER, "uid")],
    "no name": [without(OWNER, "name")],
    "no kind": [without(OWNER, "kind")],
    "no version": [without(OWNER, "apiVersion")],
    "bad version": [{**OWNER, "apiVersion": "a/b/c"}],
    "empty": [{}],
    "null": None,
    "event owner": [{**OWNER, "kind": "Event"}],
}

QUERIES = (
    "dryRun=All",
    "dryRun=Some",
    "dryRun=",
    "dryRun=All&dryRun=All",
    "fieldManager=me",
    "fieldManager=" + "m" * 129,
    "fieldManager=a%0Ab",
    "fieldValidation=Strict",
    "fieldValidation=strict",
    "fieldValidation=",
    "pretty=true",
    "pretty=1",
    "pretty=false",
    "unknown=1",
    "timeout=1s",
    "timeout=soon",
)

BODIES: dict[str, Any] = {
    "empty": "",
    "space": " ",
    "null": "null",
    "true": "true",
    "number": "7",
    "string": '"a"',
    "list": "[]",
    "empty object": "{}",
    "cut off": '{"apiVersion": "${gv}", "kind":',
    "trailing garbage": '{"apiVersion": "${gv}", "kind": "InferenceJob", "metadata": {"name": "a"}} x',
    "two objects": '{"apiVersion": "${gv}", "kind": "InferenceJob"}{"a": 1}',
    "not utf 8": b'{"apiVersion": "\xff"}',
    "nan": '{"apiVersion": "${gv}", "kind": "InferenceJob", "metadata": {"name": "a"}, "spec": {"image": '
    "NaN}}",
    "single quotes": "{'a': 1}",
    "no kind": without(job(), "kind"),
    "no apiVersion": without(job(), "apiVersion"),
    "kind number": job(kind=1),
    "apiVersion number": job(apiVersion=1),
    "other kind": job(kind="Other"),
    "kind in lower case": job(kind="inferencejob"),
    "other group": job(apiVersion="other.example.com/v1"),
    "other version": job(apiVersion="${group}/v9"),
    "core version": job(apiVersion="v1"),
    "bad version": job(apiVersion="a/b/c"),
    "list kind": job(kind="InferenceJobList", items=[]),
    "no metadata": without(job(), "metadata"),
    "metadata null": job(metadata=None),
    "metadata string": job(metadata="x"),
    "metadata list": job(metadata=[]),
    "no spec": without(job(), "spec"),
    "spec null": job(spec=None) | {"spec": None},
    "spec string": job() | {"spec": "x"},
    "spec list": job() | {"spec": []},
    "spec empty": job() | {"spec": {}},
    "status given": job(status={"phase": "Ready"}),
    "status bad": job(status={"phase": "Whatever"}),
    "status string": job(status="x"),
    "status null": job(status=None),
    "deep": '{"apiVersion": "${gv}", "kind": "InferenceJob", "metadata": {"name": "a"}, '
    '"spec": {"image": "i", "podTemplate": {"spec": ' + '{"a":' * 60 + "1" + "}" * 60 + "}}}",
}

DUPLICATES = {
    "top": '{"apiVersion": "${gv}", "kind": "InferenceJob", "kind": "InferenceJob", '
    '"metadata": {"name": "a"}, "spec": {"image": "i"}}',
    "spec": '{"apiVersion": "${gv}", "kind": "InferenceJob", "metadata": {"name": "a"}, '
    '"spec": {"image": "i", "image": "j", "gpuCount": 1, "gpuCount": 2}}',
    "metadata": '{"apiVersion": "${gv}", "kind": "InferenceJob", "metadata": {"name": "a", "name": "b"}, '
    '"spec": {"image": "i"}}',
}

MEDIA_TYPES = (
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON",
    "application/json;stream=watch",
    "text/plain",
    "text/json",
    "application/xml",
    "application/merge-patch+json",
    "application/x-www-form-urlencoded",
    "not a type",
    "*/*",
    "application/vnd.kubernetes.protobuf",
)


def cases() -> Iterator[Case]:
    """The rows about POST."""
    yield Case("create: valid, then it is there", [create(), get(), list_()])
    yield Case("create: everything set", [create(job(spec=_FULL)), get()])
    yield Case("create: exists already", [create(), create()])
    yield Case("create: exists already and invalid", [create(), create(job(spec={"gpuCount": 0}))])
    yield Case("create: a dry run leaves nothing", [create(query="dryRun=All"), get()])
    yield Case("create: a dry run of what exists", [create(), create(query="dryRun=All")])
    yield Case("create: generateName in a dry run", [create(_generated(), "dryRun=All"), list_()])
    yield Case(
        "create: to a name", [Request("POST", "${objects}/a", job(), {"Content-Type": "application/json"})]
    )
    yield Case(
        "create: in a namespace that is not there",
        [
            Request(
                "POST",
                "${root}/namespaces/not-there/inferencejobs",
                job(),
                {"Content-Type": "application/json"},
            )
        ],
    )
    yield Case(
        "create: in a namespace that is going",
        [
            Request("DELETE", "/api/v1/namespaces/${ns}", extract=lambda body, _: body.get("kind")),
            Kubectl(["wait", "namespace/${ns}", "--for=jsonpath={.status.phase}=Terminating"]),
            create(),
            create(_generated()),
            create(without(job(), "metadata", "name")),
            create(query="dryRun=All"),
            apply(job()),
            list_(),
        ],
    )
    yield Case(
        "create: without a namespace in the path",
        [Request("POST", "${root}/inferencejobs", job(), {"Content-Type": "application/json"})],
    )
    yield Case(
        "create: namespace in the object alone",
        [
            Request(
                "POST",
                "${root}/inferencejobs",
                job(meta={"namespace": "${ns}"}),
                {"Content-Type": "application/json"},
            )
        ],
    )
    yield Case("create: answer as table", [create(Accept="application/json;as=Table;v=v1;g=meta.k8s.io")])
    yield Case("create: answer as yaml", [create(Accept="application/yaml")])
    yield Case("create: answer as protobuf", [create(Accept="application/vnd.kubernetes.protobuf")])
    yield Case("create: user agent names the manager", [create(User_Agent="my-tool/v1.2 (linux)")])
    yield Case("create: user agent without a slash", [create(User_Agent="mytool")])
    yield Case("create: too big", [create(job(meta={"annotations": {"a": "x" * (3 * 1024 * 1024 + 10)}}))])
    for name, body in BODIES.items():
        yield Case(f"create: body {name}", [create(body)])
    for name, spec in SPEC_ERRORS.items():
        yield Case(f"create: {name}", [create(job(spec=spec))])
    for name, meta in METADATA.items():
        yield Case(f"create: metadata, {name}", [create(job(meta=meta))])
    for name, owners in OWNERS.items():
        yield Case(f"create: owners, {name}", [create(job(meta={"ownerReferences": owners}))])
    for query in QUERIES:
        yield Case(f"create: ?{query[:40]}", [create(query=query), get()])
    for level in ("Strict", "Warn", "Ignore", ""):
        query = f"fieldValidation={level}" if level else ""
        for name, body in UNKNOWN.items():
            yield Case(f"create: unknown field, {name}, {level or 'default'}", [create(body, query)])
        for name, text in DUPLICATES.items():
            yield Case(f"create: duplicate key, {name}, {level or 'default'}", [create(text, query)])
    for media in MEDIA_TYPES:
        yield Case(f"create: as {media}", [create(kind=media)])
    yield Case("create: without a content type", [create(kind=None)])
    yield Case("create: yaml", [create(YAML_JOB, kind=YAML)])
    yield Case("create: yaml duplicate key", [create(YAML_JOB + "  image: j\n", kind=YAML)])
    yield Case(
        "create: yaml duplicate key, strict",
        [create(YAML_JOB + "  image: j\n", "fieldValidation=Strict", kind=YAML)],
    )
    yield Case(
        "create: yaml unknown field, strict",
        [create(YAML_JOB + "  x: j\n", "fieldValidation=Strict", kind=YAML)],
    )
    yield Case("create: yaml broken", [create("a: [1, 2\n", kind=YAML)])
    yield Case("create: yaml with tab", [create("a:\n\t- b\n", kind=YAML)])
    yield Case("create: yaml norway", [create(YAML_JOB + "  suspend: yes\n", kind=YAML)])
    yield Case("create: yaml scalar", [create("just text", kind=YAML)])
    yield Case("create: yaml empty", [create("", kind=YAML)])


_FULL: dict[str, Any] = {
    "model": "s3://models/a",
    "command": ["run"],
    "args": ["--x", ""],
    "env": [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ],
    "gpuCount": 2,
    "gpuResource": "amd.com/gpu",
    "gpuProducts": ["A", "B"],
    "resources": {"cpu": "8", "memory": "64Gi", "ephemeral-storage": 1024},
    "replicas": 3,
    "nodeSelector": {"a": "b"},
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
    "priority": -5,
    "restartPolicy": "Always",
    "backoffLimit": 0,
    "activeDeadlineSeconds": 60,
    "ttlSecondsAfterFinished": 0,
    "suspend": True,
    "scratch": {"size": "1Gi", "storageClassName": "fast"},
    "podTemplate": {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "side"}]}},
}


def _generated() -> dict[str, Any]:
    return job(meta={"name": None, "generateName": "gen-"})
