"""Discovery: which groups, versions and resources there are.
Built once from the declarations, without storage.

Two forms: the old one, a document a group version, and the aggregated one,
everything in one document with an ETag (`k8s.io/apiserver/pkg/endpoints/discovery`).
kube-apiserver's aggregator polls the aggregated one; an answer of another content type makes it call the
whole group stale, and then namespaces cannot be deleted any more.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson
from fastapi import APIRouter
from starlette.requests import Request as HTTPRequest

from apiserver.endpoints.negotiation import DISCOVERY, DISCOVERY_GROUP, DISCOVERY_KIND, find
from apiserver.endpoints.plain_answer import Answer, kube, negotiated
from apiserver.endpoints.request import Request
from apiserver.endpoints.respond import encode
from apiserver.machinery.resource import Resource

Document = dict[str, Any]

_READ_WRITE = ("get", "patch", "update")
_ACTION_VERBS = ("create",)
_VERB_ORDER = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The order in which custom resources list theirs."""


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """By this clients notice that the storage version has changed (`StorageVersionHash`)."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def etag(body: bytes) -> bytes:
    """A quoted SHA-512 in upper-case hexadecimal, as the aggregator keeps it."""
    return b'"%s"' % hashlib.sha512(body).hexdigest().upper().encode()


class Discovery:
    """All discovery documents of a set of resources."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_group: dict[str, list[Resource]] = {}
        for resource in resources:
            self._by_group.setdefault(resource.group, []).append(resource)
        self._aggregated = {
            core: {version: self._aggregate(version, core=core) for version in ("v2", "v2beta1")}
            for core in (False, True)
        }
        self._etags = {
            core: etag(orjson.dumps(documents["v2"])) for core, documents in self._aggregated.items()
        }

    def versions(self, group: str) -> list[str]:
        """The served versions of a group, the preferred one first."""
        names = [
            version.name
            for resource in self._by_group.get(group, ())
            for version in resource.versions
            if version.served
        ]
        return list(dict.fromkeys(names))

    def named_groups(self) -> list[str]:
        """The groups below /apis that have a served version."""
        return [group for group in self._by_group if group and self.versions(group)]

    def group(self, group: str) -> Document:
        """The body of an `APIGroup`."""
        versions = [{"groupVersion": f"{group}/{name}", "version": name} for name in self.versions(group)]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def group_list(self) -> Document:
        """The `APIGroupList` of /apis."""
        groups = [self.group(group) for group in self.named_groups()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def api_versions(self) -> Document:
        """The `APIVersions` of /api: the versions of the core group."""
        return {"kind": "APIVersions", "versions": self.versions(""), "serverAddressByClientCIDRs": []}

    def resource_list(self, group: str, version: str) -> Document:
        """The `APIResourceList` of a group version: by name, each followed by its subresources."""
        entries = [
            entry
            for resource in sorted(self._served(group, version), key=lambda served: served.plural)
            for entry in (_entry(resource), *_subresource_entries(resource))
        ]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": entries,
        }

    def aggregated(self, request: Request, *, core: bool) -> Answer | None:
        """The aggregated document, or 304; None when the client does not ask for that form."""
        accept = find(request.headers.get(b"accept", b"").decode("latin-1"), DISCOVERY)
        if accept is None:
            return None
        tag = self._etags[core]
        headers = ((b"etag", tag), (b"vary", b"Accept"), (b"cache-control", b"public"))
        content_type = f"{accept.media_type};g={DISCOVERY_GROUP};v={accept.as_version};as={DISCOVERY_KIND}"
        if request.headers.get(b"if-none-match") == tag:
            return Answer(b"", content_type, 304, headers)
        document = self._aggregated[core][accept.as_version]
        return Answer(encode(document, accept), content_type, headers=headers)

    def paths(self) -> list[str]:
        """Every path served."""
        found = ["/api", "/apis"]
        for group in self._by_group:
            prefix = f"/apis/{group}" if group else "/api"
            found += [] if not group else [prefix]
            found += [f"{prefix}/{version}" for version in self.versions(group)]
        return found

    def _served(self, group: str, version: str) -> list[Resource]:
        found = [(resource, resource.by_version.get(version)) for resource in self._by_group.get(group, ())]
        return [resource for resource, declared in found if declared is not None and declared.served]

    def _aggregate(self, api_version: str, *, core: bool) -> Document:
        groups = [""] if core and self.versions("") else [] if core else self.named_groups()
        return {
            "kind": DISCOVERY_KIND,
            "apiVersion": f"{DISCOVERY_GROUP}/{api_version}",
            "metadata": {},
            "items": [self._aggregated_group(group) for group in groups],
        }

    def _aggregated_group(self, group: str) -> Document:
        versions = [
            {
                "version": version,
                "resources": [
                    _aggregated_resource(resource, version)
                    for resource in sorted(self._served(group, version), key=lambda r: r.plural)
                ],
                "freshness": "Current",
            }
            for version in self.versions(group)
        ]
        return {"metadata": {"name": group} if group else {}, "versions": versions}


def _entry(resource: Resource) -> Document:
    entry: Document = {
        "name": resource.plural,
        "singularName": resource.singular_name,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    entry["storageVersionHash"] = storage_version_hash(
        resource.group, resource.storage_version, resource.kind
    )
    return entry


def _subresource_entries(resource: Resource) -> list[Document]:
    entries: list[Document] = []
    for name, group, version, kind, verbs in _subresources(resource):
        entry: Document = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
        }
        if version:
            entry |= {"group": group, "version": version}
        entries.append(entry | {"kind": kind, "verbs": list(verbs)})
    return entries


def _verbs(resource: Resource) -> list[str]:
    return [verb for verb in _VERB_ORDER if verb in resource.verbs]


def _subresources(resource: Resource) -> list[tuple[str, str, str, str, Sequence[str]]]:
    """(name, group, version, kind, verbs) of each; without a version it is the resource's own."""
    found: list[tuple[str, str, str, str, Sequence[str]]] = []
    if resource.status:
        verbs = [verb for verb in _READ_WRITE if verb in resource.verbs] or ["get"]
        found.append(("status", "", "", resource.kind, verbs))
    if resource.scale is not None:
        found.append(("scale", "autoscaling", "v1", "Scale", _READ_WRITE))
    for name, action in resource.actions.items():
        kind = getattr(action, "kind", resource.kind)
        found.append((name, "", "", kind, tuple(sorted(getattr(action, "verbs", _ACTION_VERBS)))))
    return found


def _aggregated_resource(resource: Resource, version: str) -> Document:
    document: Document = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular_name,
        "verbs": _verbs(resource),
    }
    if resource.short_names:
        document["shortNames"] = list(resource.short_names)
    if resource.categories:
        document["categories"] = list(resource.categories)
    subresources = [
        {
            "subresource": name,
            "responseKind": _kind(group, other, kind) if other else _kind(resource.group, version, kind),
            "verbs": list(verbs),
        }
        for name, group, other, kind, verbs in _subresources(resource)
    ]
    if subresources:
        document["subresources"] = subresources
    return document


def _kind(group: str, version: str, kind: str) -> Document:
    return {"group": group, "version": version, "kind": kind}


def router(discovery: Discovery) -> APIRouter:
    """The routes of discovery, with and without a final slash."""
    routes = APIRouter()

    def add(path: str, document: Callable[[Request], Answer]) -> None:
        async def answer(http: HTTPRequest) -> Answer:
            return document(kube(http))

        for spelling in (path, f"{path}/"):
            routes.add_api_route(spelling, answer, methods=["GET", "HEAD"], response_model=None)

    def root(legacy: Document, *, core: bool) -> Callable[[Request], Answer]:
        return lambda request: discovery.aggregated(request, core=core) or negotiated(request, legacy)

    def plain(document: Document) -> Callable[[Request], Answer]:
        return lambda request: negotiated(request, document)

    add("/api", root(discovery.api_versions(), core=True))
    add("/apis", root(discovery.group_list(), core=False))
    for version in discovery.versions(""):
        add(f"/api/{version}", plain(discovery.resource_list("", version)))
    for group in discovery.named_groups():
        add(f"/apis/{group}", plain({"kind": "APIGroup", "apiVersion": "v1"} | discovery.group(group)))
        for version in discovery.versions(group):
            add(f"/apis/{group}/{version}", plain(discovery.resource_list(group, version)))
    return routes
