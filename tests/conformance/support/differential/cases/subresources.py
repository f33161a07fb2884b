"""/status and /scale, paths and methods that do not exist, and the documents that describe the group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from differential.case import (
    APPLY,
    JSON_PATCH,
    PARTIAL,
    STRATEGIC,
    TABLE,
    Case,
    Request,
    apply,
    create,
    get,
    job,
    patch,
    put,
)

STATUSES: dict[str, Any] = {
    "phase": job(status={"phase": "Ready"}),
    "spec too": job(spec={"priority": 9}, status={"phase": "Ready"}),
    "labels too": job(
        meta={"labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["example.com/f"]},
        status={"phase": "Ready"},
    ),
    "nothing": job(),
    "invalid phase": job(status={"phase": "Great"}),
    "unknown field": job(status={"extra": 1}),
    "invalid spec": job(spec={"gpuCount": 0}, status={"phase": "Ready"}),
    "no spec": {k: v for k, v in job(status={"phase": "Ready"}).items() if k != "spec"},
    "stale revision": job(meta={"resourceVersion": "1"}, status={"phase": "Ready"}),
    "right revision": job(meta={"resourceVersion": "${rv}"}, status={"phase": "Ready"}),
    "other name": job("b", status={"phase": "Ready"}),
    "other uid": job(meta={"uid": "11111111-1111-1111-1111-111111111111"}, status={"phase": "Ready"}),
    "string": job(status="x"),
    "null": job(status=None),
    "empty": job(status={}),
    "duplicate conditions": job(status={"conditions": [{"type": "Ready"}, {"type": "Ready"}]}),
    "negative count": job(status={"readyReplicas": -1}),
}


def _scale(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": spec}


SCALES: dict[str, Any] = {
    "up": _scale(replicas=3),
    "the same": _scale(replicas=1),
    "zero": _scale(replicas=0),
    "negative": _scale(replicas=-1),
    "too many": _scale(replicas=100000),
    "string": _scale(replicas="3"),
    "nothing": _scale(),
    "no spec": {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}},
    "other name": {**_scale(replicas=2), "metadata": {"name": "b"}},
    "no name": {**_scale(replicas=2), "metadata": {}},
    "other kind": job(),
    "no kind": {"spec": {"replicas": 2}},
    "extensions kind": {**_scale(replicas=2), "apiVersion": "extensions/v1beta1"},
    "stale revision": {**_scale(replicas=2), "metadata": {"name": "a", "resourceVersion": "1"}},
    "right revision": {**_scale(replicas=2), "metadata": {"name": "a", "resourceVersion": "${rv}"}},
    "unknown field": {**_scale(replicas=2, extra=1), "more": 2},
    "broken": "{",
}
PATHS = (
    "${root}/others",
    "${root}/namespaces/${ns}/others",
    "${root}/namespaces/${ns}/others/a",
    "${root}/namespaces/${ns}/inferencejobs/a/unknown",
    "${root}/namespaces/${ns}/inferencejobs/a/status/more",
    "${root}/namespaces/${ns}/inferencejobs/a/b/c/d",
    "${root}/namespaces/${ns}/inferencejobs/",
    "${root}/namespaces/${ns}/inferencejobs/a/",
    "${root}/namespaces/${ns}/",
    "${root}/namespaces/${ns}",
    "${root}/namespaces",
    "${root}//inferencejobs",
    "${root}/inferencejobs/",
    "${root}/inferencejobs/a",
    "${root}/inferencejob",
    "${root}/INFERENCEJOBS",
    "${root}/namespaces/${ns}/inferencejobs/a%2Fb",
    "${root}/namespaces/${ns}/inferencejobs/%20",
    "${root}/namespaces/${ns}/inferencejobs/a%00b",
    "${root}/namespaces/${ns}/inferencejobs/A_b",
    "${root}/namespaces/Bad_Ns/inferencejobs",
    "${root}/../v1/inferencejobs",
    "${root}/proxy",
    "${root}/unknown/deep/path",
    "/apis/${group}/v2",
    "/apis/${group}/v2/namespaces/${ns}/inferencejobs",
    "/apis/${group}/v1/",
)


def cases() -> Iterator[Case]:
    """The rows about subresources, wrong addresses and descriptions."""
    yield from _status()
    yield from _scales()
    for path in PATHS:
        extract = _EXTRACTS.get(path)
        yield Case(f"path: {path}", [create(), Request("GET", path, extract=extract)])
    for method in ("PUT", "PATCH", "POST", "DELETE"):
        yield Case(f"path: {method} to something unknown", [Request(method, "${root}/others/a", {}, _JSON)])
    yield from _methods()
    yield from _documents()


_JSON = {"Content-Type": "application/json"}


def _status() -> Iterator[Case]:
    yield Case("status: get", [create(), get("a/status")])
    yield Case("status: get of nothing", [get("a/status")])
    yield Case("status: get as table", [create(), get("a/status", accept=TABLE)])
    yield Case("status: get as partial", [create(), get("a/status", accept=PARTIAL)])
    for name, body in STATUSES.items():
        yield Case(f"status: update, {name}", [create(), put(body, "a/status"), get()])
        if "revision" not in name:
            yield Case(f"status: create ignores it, {name}", [create(body), get()])
    yield Case("status: update of nothing", [put(job(status={"phase": "Ready"}), "a/status")])
    yield Case("status: merge", [create(), patch({"status": {"phase": "Ready"}}, name="a/status"), get()])
    yield Case("status: merge of spec", [create(), patch({"spec": {"priority": 4}}, name="a/status"), get()])
    yield Case(
        "status: merge of both",
        [create(), patch({"spec": {"priority": 4}, "status": {"attempts": 1}}, name="a/status")],
    )
    yield Case(
        "status: merge of an invalid value", [create(), patch({"status": {"phase": "X"}}, name="a/status")]
    )
    yield Case(
        "status: merge of an unknown field",
        [create(), patch({"status": {"x": 1}}, name="a/status", query="fieldValidation=Strict")],
    )
    yield Case("status: merge through the object", [create(), patch({"status": {"phase": "Ready"}}), get()])
    yield Case(
        "status: json patch",
        [
            create(),
            patch([{"op": "add", "path": "/status", "value": {"phase": "Ready"}}], JSON_PATCH, "a/status"),
            get(),
        ],
    )
    yield Case("status: strategic", [create(), patch({"status": {}}, STRATEGIC, "a/status")])
    yield Case(
        "status: survives an update of the object",
        [
            create(),
            patch({"status": {"phase": "Ready"}}, name="a/status"),
            put(job(spec={"priority": 2})),
            get(),
        ],
    )
    yield Case(
        "status: removed",
        [
            create(),
            patch({"status": {"phase": "Ready"}}, name="a/status"),
            patch({"status": None}, name="a/status"),
            get(),
        ],
    )
    yield Case(
        "status: dry run",
        [create(), patch({"status": {"phase": "Ready"}}, name="a/status", query="dryRun=All"), get()],
    )
    yield Case(
        "status: unchanged keeps the revision",
        [
            create(),
            patch({"status": {"phase": "Ready"}}, name="a/status"),
            patch({"status": {"phase": "Ready"}}, name="a/status"),
        ],
    )
    for method in ("POST", "DELETE"):
        yield Case(f"status: {method}", [create(), Request(method, "${objects}/a/status", job(), _JSON)])


def _scales() -> Iterator[Case]:
    yield Case("scale: get", [create(), get("a/scale")])
    yield Case("scale: get of nothing", [get("a/scale")])
    yield Case("scale: get as table", [create(), get("a/scale", accept=TABLE)])
    yield Case("scale: get as partial", [create(), get("a/scale", accept=PARTIAL)])
    yield Case(
        "scale: with a status",
        [create(), patch({"status": {"readyReplicas": 1}}, name="a/status"), get("a/scale")],
    )
    for name, body in SCALES.items():
        yield Case(f"scale: update, {name}", [create(), put(body, "a/scale"), get()])
    yield Case("scale: update of nothing", [put(_scale(replicas=2), "a/scale")])
    yield Case("scale: dry run", [create(), put(_scale(replicas=2), "a/scale", "dryRun=All"), get()])
    yield Case("scale: merge", [create(), patch({"spec": {"replicas": 5}}, name="a/scale"), get()])
    yield Case(
        "scale: merge of something else", [create(), patch({"spec": {"image": "x"}}, name="a/scale"), get()]
    )
    yield Case(
        "scale: merge by a manager",
        [create(), patch({"spec": {"replicas": 5}}, name="a/scale", query="fieldManager=scaler"), get()],
    )
    yield Case(
        "scale: takes replicas from apply",
        [
            apply(job(spec={"replicas": 2})),
            patch({"spec": {"replicas": 5}}, name="a/scale", query="fieldManager=scaler"),
            apply(job(spec={"replicas": 2})),
        ],
    )
    yield Case(
        "scale: json patch",
        [create(), patch([{"op": "replace", "path": "/spec/replicas", "value": 4}], JSON_PATCH, "a/scale")],
    )
    yield Case("scale: strategic", [create(), patch({"spec": {"replicas": 4}}, STRATEGIC, "a/scale")])
    yield Case("scale: apply", [create(), patch(_scale(replicas=4), APPLY, "a/scale", "fieldManager=s")])
    for method in ("POST", "DELETE"):
        yield Case(
            f"scale: {method}", [create(), Request(method, "${objects}/a/scale", _scale(replicas=2), _JSON)]
        )


def _methods() -> Iterator[Case]:
    places = {"group version": "${root}", "collection": "${objects}", "object": "${objects}/a"}
    for place, path in places.items():
        for method in ("HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE", "FOO"):
            if (place, method) in (("collection", "POST"), ("collection", "DELETE")):
                continue
            if place == "object" and method in ("PUT", "PATCH", "DELETE"):
                continue
            extract = _resources if place == "group version" else None
            request = Request(method, path, extract=extract)
            yield Case(f"method: {method} of the {place}", [create(), request])
    yield Case("method: HEAD of nothing", [Request("HEAD", "${objects}/a")])
    yield Case("method: get with a body", [create(), Request("GET", "${objects}/a", job("b"), _JSON)])


def _resources(document: Any, group: str) -> Any:
    """Only the resource that both sides have."""
    wanted = [r for r in document.get("resources", []) if r["name"].partition("/")[0] == "inferencejobs"]
    return {**document, "resources": wanted}


def _aggregated(document: Any, group: str) -> Any:
    """Only our group in the document of all groups, and only the resource that both sides have."""
    return [
        {
            **version,
            "resources": [r for r in version.get("resources", []) if r["resource"] == "inferencejobs"],
        }
        for item in document.get("items", [])
        if item["metadata"]["name"] == group
        for version in item["versions"]
    ]


def _kind_alone(document: Any, group: str) -> Any:
    """For a list of all namespaces, in which other cases put objects at the same time."""
    return document.get("kind")


_EXTRACTS = {"/apis/${group}/v1/": _resources, "${root}/inferencejobs/": _kind_alone}


def _operations(document: Any, group: str) -> Any:
    """Paths with their verbs and what kubectl looks for in each."""
    found: dict[str, Any] = {}
    for path, item in sorted(document["paths"].items()):
        if "gpunodes" in path:
            continue
        for method, operation in item.items():
            if not isinstance(operation, dict):
                continue
            found[f"{method} {path}"] = {
                "kind": operation.get("x-kubernetes-group-version-kind"),
                "action": operation.get("x-kubernetes-action"),
                "parameters": sorted(
                    f"{p.get('in')} {p['name']}"
                    for p in [*operation.get("parameters", []), *item.get("parameters", [])]
                    if "name" in p
                ),
                "body": sorted(operation.get("requestBody", {}).get("content", {})),
                "answers": sorted(operation.get("responses", {})),
            }
    return found


def _documents() -> Iterator[Case]:
    for name, headers in (("json", {}), ("table", {"Accept": TABLE}), ("curl", {"User-Agent": "curl/8"})):
        yield Case(
            f"discovery: the version, {name}", [Request("GET", "${root}", None, headers, "", _resources)]
        )
    yield Case("discovery: the version, html", [Request("GET", "${root}", headers={"Accept": "text/html"})])
    yield Case("discovery: the group", [Request("GET", "/apis/${group}")])
    for version in ("v2", "v2beta1"):
        accept = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        yield Case(
            f"discovery: aggregated {version}",
            [Request("GET", "/apis", None, {"Accept": accept}, "", _aggregated)],
        )
    yield Case("openapi: operations", [Request("GET", "/openapi/v3/apis/${group}/v1", extract=_operations)])
