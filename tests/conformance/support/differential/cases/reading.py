"""GET and LIST: representations, revisions, pages and selectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from differential.case import PARTIAL, PARTIAL_LIST, TABLE, YAML, Case, Request, create, get, job, list_, put

ACCEPTS = {
    "json": "application/json",
    "anything": "*/*",
    "application anything": "application/*",
    "none": None,
    "empty": "",
    "yaml": YAML,
    "protobuf": "application/vnd.kubernetes.protobuf",
    "protobuf first": "application/vnd.kubernetes.protobuf,application/json",
    "cbor": "application/cbor",
    "html": "text/html",
    "browser": "text/html,application/xhtml+xml,*/*;q=0.8",
    "quality": "application/yaml;q=0.5,application/json;q=0.9",
    "pretty parameter": "application/json;pretty=1",
    "charset parameter": "application/json;charset=utf-8",
    "malformed": ";;;",
    "upper case": "Application/JSON",
    "table": TABLE,
    "table v1beta1": "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "table as kubectl asks": f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    "table v2": "application/json;as=Table;v=v2;g=meta.k8s.io",
    "table v2, then json": "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
    "table other group": "application/json;as=Table;v=v1;g=other",
    "table yaml": "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    "table protobuf": "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
    "partial": PARTIAL,
    "partial list": PARTIAL_LIST,
    "partial v1beta1": "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
    "partial yaml": "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "partial as informers ask": "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;"
    f"g=meta.k8s.io;v=v1,{PARTIAL},application/json",
    "partial list as informers ask": "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;"
    f"g=meta.k8s.io;v=v1,{PARTIAL_LIST},application/json",
    "unknown as": "application/json;as=Other;v=v1;g=meta.k8s.io",
    "as without version": "application/json;as=Table",
}

THREE = [
    create(job("a", meta={"labels": {"app": "x", "tier": "1"}}), save="a"),
    create(job("b", meta={"labels": {"app": "y"}}, spec={"priority": 5}), save="b"),
    create(job("c"), save="c"),
]

# A list of the latest state waits for the cache: what may come from any state then comes from this one.
FENCE = list_()

LABELS = (
    "app=x",
    "app==x",
    "app!=x",
    "app",
    "!app",
    "app in (x,y)",
    "app notin (x)",
    "app in (x),tier=1",
    "app=x,app=y",
    "app=",
    "tier>0",
    "tier<5",
    "tier>a",
    "app in ()",
    "app in (x",
    "app=x,",
    ",",
    "=x",
    "a b",
    "app=x y",
    "app=b@d",
    "UPPER_/x=1",
    "example.com/app=x",
    "app in x",
    "!!app",
    "app=" + "v" * 64,
    " app = x ",
    "app!",
)
FIELDS = (
    "metadata.name=a",
    "metadata.name==a",
    "metadata.name!=a",
    "metadata.name=",
    "metadata.name=a,metadata.namespace=${ns}",
    "metadata.namespace=other",
    "metadata.name=a,metadata.name=b",
    "spec.priority=5",
    "spec.priority=0",
    "spec.priority!=0",
    "spec.priority=x",
    "status.phase=",
    "status.phase=Ready",
    "status.phase!=Ready",
    "spec.image=x",
    "metadata.uid=1",
    "metadata.labels=x",
    "nonsense",
    "=",
    "a=b=c",
    "metadata.name=a\\,b",
    "metadata.name=a\\",
    "metadata.name>a",
)
REVISIONS = (
    "resourceVersion=0",
    "resourceVersion=",
    "resourceVersion=1",
    "resourceVersion=${a.rv}",
    "resourceVersion=abc",
    "resourceVersion=-1",
    "resourceVersion=1.5",
    "resourceVersion=9223372036854775807",
    "resourceVersion=99999999999999999999",
)
LISTS = (
    "limit=0",
    "limit=-1",
    "limit=x",
    "limit=1&limit=2",
    "limit=1000000",
    "limit=9999999999999999999999",
    "limit=2&resourceVersion=0",
    "limit=2&resourceVersion=${a.rv}",
    "limit=2&resourceVersion=${a.rv}&resourceVersionMatch=Exact",
    "limit=2&resourceVersion=${c.rv}&resourceVersionMatch=Exact",
    "limit=2&resourceVersion=${a.rv}&resourceVersionMatch=NotOlderThan",
    "resourceVersion=${a.rv}&resourceVersionMatch=Exact",
    "resourceVersion=${b.rv}&resourceVersionMatch=Exact",
    "resourceVersion=${a.rv}&resourceVersionMatch=NotOlderThan",
    "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "resourceVersion=0&resourceVersionMatch=Exact",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=NotOlderThan",
    "resourceVersion=${a.rv}&resourceVersionMatch=Sometimes",
    "resourceVersion=${a.rv}&resourceVersionMatch=exact",
    "resourceVersionMatch=",
    "continue=abc",
    "continue=e30",
    "continue=eyJ2IjoidjIiLCJydiI6MSwic3RhcnQiOiJhIn0",
    "limit=2&labelSelector=app",
    "limit=1&fieldSelector=metadata.name=b",
    "sendInitialEvents=true",
    "sendInitialEvents=false",
    "allowWatchBookmarks=true",
    "allowWatchBookmarks=x",
    "timeoutSeconds=x",
    "timeoutSeconds=1",
    "pretty=true",
    "shardSelector=",
    "unknown=1",
)


def _large(name: str) -> dict[str, Any]:
    return job(name, meta={"annotations": {"text": "x" * 150_000}})


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="${}()!,=.")


def cases() -> Iterator[Case]:
    """The rows about GET on objects and collections."""
    yield Case("get: not there", [get()])
    yield Case("get: not there, as table", [get(accept=TABLE)])
    yield Case("get: from curl", [create(), get(User_Agent="curl/8.1")])
    yield Case("get: from a browser", [create(), get(User_Agent="Mozilla/5.0")])
    for query in ("pretty=true", "pretty=0", "pretty=", "export=true", "exact=true", *REVISIONS):
        yield Case(f"get: ?{query}", [create(save="a"), FENCE, get(query=query)])
    for name, accept in ACCEPTS.items():
        header = {"Accept": accept}
        yield Case(f"get: accept {name}", [create(), Request("GET", "${objects}/a", headers=header)])
        yield Case(f"list: accept {name}", [create(), Request("GET", "${objects}", headers=header)])
    for include in ("None", "Metadata", "Object", "", "Everything", "none"):
        query = f"includeObject={include}"
        yield Case(f"get: table with object {include or 'empty'}", [create(), get(query=query, accept=TABLE)])
        yield Case(f"list: table with object {include or 'empty'}", [create(), list_(query, accept=TABLE)])
    yield Case("get: includeObject without a table", [create(), get(query="includeObject=Everything")])
    yield Case("list: nothing", [list_()])
    yield Case("list: nothing, table", [list_(accept=TABLE)])
    yield Case("list: nothing, partial", [list_(accept=PARTIAL_LIST)])
    yield Case(
        "list: of a megabyte", [*(create(_large(name)) for name in "abcdefgh"), list_(), list_(accept=YAML)]
    )
    yield Case("list: three", [*THREE, list_()])
    yield Case("list: three, table", [*THREE, list_(accept=TABLE)])
    yield Case(
        "list: all namespaces by name", [*THREE, _everywhere("fieldSelector=metadata.namespace=${ns}")]
    )
    yield Case(
        "list: in a namespace that is not there",
        [Request("GET", "${root}/namespaces/not-there/inferencejobs")],
    )
    for accept in ("application/json", TABLE, PARTIAL_LIST):
        short = accept.partition(";v")[0]
        yield Case(
            f"list: pages, {short}",
            [
                *THREE,
                list_("limit=1", accept=accept),
                list_("limit=1&continue=${continue}", accept=accept),
                list_("limit=1&continue=${continue}", accept=accept),
            ],
        )
    yield Case("list: a page, then the rest", [*THREE, list_("limit=1"), list_("continue=${continue}")])
    yield Case(
        "list: pages are of one moment",
        [*THREE, list_("limit=1"), create(job("bb")), list_("limit=5&continue=${continue}")],
    )
    yield Case(
        "list: exact revision after a change",
        [
            *THREE,
            put(job("b", spec={"priority": 9}), "b"),
            list_("resourceVersion=${c.rv}&resourceVersionMatch=Exact"),
        ],
    )
    for extra in (
        "resourceVersion=0",
        "resourceVersion=${a.rv}",
        "resourceVersionMatch=Exact",
        "labelSelector=app",
    ):
        yield Case(
            f"list: continue with {extra}",
            [*THREE, list_("limit=1"), list_("limit=1&continue=${continue}&" + extra)],
        )
    for query in (*REVISIONS, *LISTS):
        yield Case(f"list: ?{query}", [*THREE, FENCE, list_(query)])
    for selector in LABELS:
        yield Case(f"list: labels {selector[:40]}", [*THREE, list_("labelSelector=" + _quoted(selector))])
    for selector in FIELDS:
        yield Case(f"list: fields {selector}", [*THREE, list_("fieldSelector=" + _quoted(selector))])


def _everywhere(query: str) -> Request:
    return Request("GET", "${root}/inferencejobs?" + query)
