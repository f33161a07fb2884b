"""The vocabulary of the table: a case is a list of steps, and every step's answer is compared.

Texts may hold `${name}`: `group`, `gv` (group/version), `root` (/apis/group/version), `ns`, `objects` (the
collection in the case's namespace), and what earlier answers gave: `rv`, `uid`, `name`, `listrv`, `continue`
of the last one, or `a.rv` of the one that was saved as `a`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any] | list[Any] | str | bytes | None

JSON = "application/json"
YAML = "application/yaml"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass(frozen=True)
class Request:
    """One HTTP request. A header of None is not sent at all."""

    method: str
    path: str
    body: Body = None
    headers: Mapping[str, str | None] = field(default_factory=dict)
    save: str = ""
    extract: Callable[[Any, str], Any] | None = None


@dataclass(frozen=True)
class Watch:
    """A watch that is open while other steps run, and read until the server ends it."""

    path: str
    during: Sequence[Request] = ()
    headers: Mapping[str, str | None] = field(default_factory=dict)
    seconds: int = 2


@dataclass(frozen=True)
class Kubectl:
    """One run of kubectl."""

    args: Sequence[str]
    stdin: Body = ""
    env: Mapping[str, str] = field(default_factory=dict)


Step = Request | Watch | Kubectl


@dataclass(frozen=True)
class Case:
    """A row of the table. Its name says the verb and what is special."""

    name: str
    steps: Sequence[Step]


def job(name: str = "a", *, spec: Any = None, meta: Any = None, **top: Any) -> dict[str, Any]:
    """A valid object, with changes: `spec` and `meta` are merged in, `top` goes beside them."""
    made: dict[str, Any] = {
        "apiVersion": "${gv}",
        "kind": "InferenceJob",
        "metadata": {"name": name, **(meta or {})},
        "spec": {"image": "registry.example.com/vllm:1", **(spec or {})},
    }
    made.update(copy.deepcopy(top))
    return made


def without(obj: dict[str, Any], *path: str) -> dict[str, Any]:
    """A copy without the field at the path."""
    made = copy.deepcopy(obj)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return made


def _query(query: str) -> str:
    return f"?{query}" if query else ""


def create(
    body: Body = None, query: str = "", *, save: str = "", kind: str | None = JSON, **headers: str
) -> Request:
    """POST to the collection."""
    sent: dict[str, str | None] = {"Content-Type": kind, **_names(headers)}
    return Request("POST", "${objects}" + _query(query), job() if body is None else body, sent, save)


def get(name: str = "a", query: str = "", *, save: str = "", accept: str = JSON, **headers: str) -> Request:
    """GET one object."""
    return Request(
        "GET", f"${{objects}}/{name}{_query(query)}", None, {"Accept": accept, **_names(headers)}, save
    )


def list_(query: str = "", *, save: str = "", accept: str = JSON, **headers: str) -> Request:
    """GET the collection."""
    return Request("GET", "${objects}" + _query(query), None, {"Accept": accept, **_names(headers)}, save)


def put(body: Body, name: str = "a", query: str = "", *, kind: str | None = JSON, save: str = "") -> Request:
    """PUT one object."""
    return Request("PUT", f"${{objects}}/{name}{_query(query)}", body, {"Content-Type": kind}, save)


def patch(
    body: Body, kind: str | None = MERGE, name: str = "a", query: str = "", *, save: str = ""
) -> Request:
    """PATCH one object (`name` may end in a subresource)."""
    return Request("PATCH", f"${{objects}}/{name}{_query(query)}", body, {"Content-Type": kind}, save)


def apply(
    body: Body, manager: str = "one", name: str = "a", query: str = "", *, force: str = "", save: str = ""
) -> Request:
    """Server-side apply."""
    query = "&".join(
        part
        for part in (f"fieldManager={manager}" if manager else "", f"force={force}" if force else "", query)
        if part
    )
    return patch(body, APPLY, name, query, save=save)


def delete(name: str = "a", query: str = "", body: Body = None, *, kind: str | None = JSON) -> Request:
    """DELETE one object."""
    headers = {} if body is None else {"Content-Type": kind}
    return Request("DELETE", f"${{objects}}/{name}{_query(query)}", body, headers)


def watch(query: str = "", *during: Request, accept: str = JSON, seconds: int = 2) -> Watch:
    """Watch the collection."""
    path = "${objects}?watch=true" + (f"&{query}" if query else "")
    return Watch(path, during, {"Accept": accept}, seconds)


def _names(headers: Mapping[str, str]) -> dict[str, str | None]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
