"""Health, discovery, OpenAPI and the rest, over ASGI."""

from __future__ import annotations

import asyncio
import hashlib

import httpx
import pytest

from apiserver.apis.ai.resources import RESOURCES
from apiserver.auth.user import UserInfo
from apiserver.endpoints.discovery import Discovery, storage_version_hash
from apiserver.endpoints.health import Check, HealthChecks, UnhealthyError, event_check
from apiserver.endpoints.openapi import OpenAPI
from apiserver.endpoints.request import SCOPE_KEY, Request, RequestInfo
from apiserver.endpoints.request_info import parse_query
from apiserver.endpoints.respond import send_status
from apiserver.endpoints.status_paths import StatusPaths
from apiserver.machinery.errors import APIError

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def broken():
    raise UnhealthyError("the disk is on fire")


async def hanging():
    await asyncio.Event().wait()


class Served:
    """The application with a minimal chain: just enough for it to be asked."""

    def __init__(self, checks=None, user=None, documents=None):
        self.user = user
        self.builds = 0
        openapi = documents or OpenAPI(
            self.build_v2, {"apis/ai.example.com/v1": lambda: {"openapi": "3.0.0"}}
        )
        self.app = StatusPaths(checks or HealthChecks(), Discovery(RESOURCES), openapi)

    def build_v2(self):
        self.builds += 1
        return {"swagger": "2.0"}

    async def __call__(self, scope, receive, send):
        info = RequestInfo(False, scope["path"], scope["method"].lower(), scope["method"])
        headers = dict(scope["headers"])
        query = parse_query(scope["query_string"])
        scope[SCOPE_KEY] = Request(info, headers=headers, query=query, user=self.user)
        try:
            await self.app(scope, receive, send)
        except APIError as error:
            await send_status(send, scope, error)

    def request(self, method, path, **options):
        async def ask():
            transport = httpx.ASGITransport(self)
            async with httpx.AsyncClient(transport=transport, base_url="https://server") as client:
                client.headers["user-agent"] = "test"
                return await client.request(method, path, **options)

        return ask()

    def get(self, path, **options):
        return self.request("GET", path, **options)


async def test_health_is_ok_in_two_letters():
    response = await Served().get("/livez")
    assert (response.status_code, response.text) == (200, "ok")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_verbose_health_lists_every_check():
    checks = HealthChecks()
    checks.add(event_check("informer-sync", lambda: True, "not synced"))
    response = await Served(checks).get("/readyz?verbose")
    assert response.text == "[+]ping ok\n[+]informer-sync ok\nreadyz check passed\n"


async def test_a_failing_check_is_told_without_its_reason():
    checks = HealthChecks()
    checks.add(Check("disk", broken), ("readyz",))
    served = Served(checks)
    response = await served.get("/readyz")
    assert response.status_code == 500
    assert response.text == "[+]ping ok\n[-]disk failed: reason withheld\nreadyz check failed\n"
    assert (await served.get("/livez")).status_code == 200


async def test_checks_can_be_excluded():
    checks = HealthChecks()
    checks.add(Check("disk", broken))
    response = await Served(checks).get("/healthz?exclude=disk&exclude=nothing&verbose")
    assert response.status_code == 200
    assert response.text == (
        "[+]ping ok\n[+]disk excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "nothing"\n'
        "healthz check passed\n"
    )


async def test_a_check_has_a_path_of_its_own():
    checks = HealthChecks()
    checks.add(Check("disk", broken))
    known = UserInfo("alice", groups=("system:authenticated",))
    assert (await Served(checks).get("/readyz/ping")).text == "ok"
    assert (await Served(checks).get("/readyz/disk")).text == "internal server error: reason withheld\n"
    told = await Served(checks, known).get("/readyz/disk")
    assert (told.status_code, told.text) == (500, "internal server error: the disk is on fire\n")
    assert (await Served(checks).get("/readyz/nothing")).status_code == 404


async def test_a_check_that_hangs_has_failed():
    checks = HealthChecks(timeout=0)
    checks.add(Check("stuck", hanging))
    response = await Served(checks).get("/livez")
    assert "[-]stuck failed" in response.text


def test_two_checks_cannot_share_a_name():
    checks = HealthChecks()
    with pytest.raises(ValueError, match="there is a check named 'ping'"):
        checks.add(Check("ping", broken))


async def test_the_shutdown_check_fails_when_told():
    stopping = asyncio.Event()
    checks = HealthChecks()
    checks.add(event_check("shutdown", stopping.is_set, "shutting down", healthy_when=False), ("readyz",))
    served = Served(checks)
    assert (await served.get("/readyz")).status_code == 200
    stopping.set()
    assert (await served.get("/readyz")).status_code == 500
    assert (await served.get("/livez")).status_code == 200


async def test_the_group_is_discovered_the_old_way():
    served = Served()
    groups = (await served.get("/apis")).json()
    assert groups["kind"] == "APIGroupList"
    (group,) = groups["groups"]
    assert group["name"] == "ai.example.com"
    assert group["preferredVersion"] == {"groupVersion": "ai.example.com/v1", "version": "v1"}
    one = (await served.get("/apis/ai.example.com")).json()
    assert one == {"kind": "APIGroup", "apiVersion": "v1"} | group
    assert (await served.get("/apis/ai.example.com/")).json() == one


async def test_resources_are_discovered_the_old_way():
    document = (await Served().get("/apis/ai.example.com/v1")).json()
    assert (document["kind"], document["groupVersion"]) == ("APIResourceList", "ai.example.com/v1")
    names = [resource["name"] for resource in document["resources"]]
    assert names == ["gpunodes", "inferencejobs", "inferencejobs/status", "inferencejobs/scale"]
    by_name = {resource["name"]: resource for resource in document["resources"]}
    jobs = by_name["inferencejobs"]
    assert jobs == {
        "name": "inferencejobs",
        "singularName": "inferencejob",
        "namespaced": True,
        "kind": "InferenceJob",
        "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        "shortNames": ["ij"],
        "categories": jobs["categories"],
        "storageVersionHash": storage_version_hash("ai.example.com", "v1", "InferenceJob"),
    }
    assert "all" in jobs["categories"]
    assert by_name["inferencejobs/status"]["verbs"] == ["get", "patch", "update"]
    scale = by_name["inferencejobs/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


def test_the_storage_version_hash_is_that_of_kubernetes():
    # What every cluster shows for pods and deployments.
    assert storage_version_hash("", "v1", "Pod") == "xPOwRZ+Yhw8="
    assert storage_version_hash("apps", "v1", "Deployment") == "8aSe+NMegvE="


async def test_discovery_answers_plainly_to_who_asks_for_a_table():
    table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    response = await Served().get("/apis", headers={"accept": table})
    assert (response.status_code, response.json()["kind"]) == (200, "APIGroupList")


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
async def test_the_aggregated_document_has_its_own_content_type(version):
    accept = AGGREGATED.replace("v2", version)
    response = await Served().get("/apis", headers={"accept": f"{accept},application/json"})
    assert response.headers["content-type"] == accept
    assert response.headers["vary"] == "Accept"
    assert response.headers["cache-control"] == "public"
    document = response.json()
    assert document["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    (group,) = document["items"]
    assert group["metadata"]["name"] == "ai.example.com"
    first = group["versions"][0]
    assert (first["version"], first["freshness"]) == ("v1", "Current")
    jobs = next(r for r in first["resources"] if r["resource"] == "inferencejobs")
    assert jobs["scope"] == "Namespaced"
    assert jobs["responseKind"] == {"group": "ai.example.com", "version": "v1", "kind": "InferenceJob"}
    assert [sub["subresource"] for sub in jobs["subresources"]] == ["status", "scale"]


async def test_an_unchanged_aggregated_document_is_304():
    served = Served()
    first = await served.get("/apis", headers={"accept": AGGREGATED})
    tag = first.headers["etag"]
    assert tag == tag.upper()
    assert len(tag) == 130
    second = await served.get("/apis", headers={"accept": AGGREGATED, "if-none-match": tag})
    assert (second.status_code, second.content, second.headers["etag"]) == (304, b"", tag)
    other = await served.get("/apis", headers={"accept": AGGREGATED, "if-none-match": '"X"'})
    assert other.status_code == 200


async def test_the_core_group_is_empty_but_there():
    served = Served()
    assert (await served.get("/api")).json() == {
        "kind": "APIVersions",
        "versions": [],
        "serverAddressByClientCIDRs": [],
    }
    assert (await served.get("/api", headers={"accept": AGGREGATED})).json()["items"] == []


async def test_openapi_is_built_once_and_tagged():
    served = Served()
    first, second = await asyncio.gather(served.get("/openapi/v2"), served.get("/openapi/v2"))
    assert first.json() == second.json() == {"swagger": "2.0"}
    assert served.builds == 1
    assert first.headers["etag"] == f'"{hashlib.sha512(first.content).hexdigest().upper()}"'
    same = await served.get("/openapi/v2", headers={"if-none-match": first.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")


async def test_openapi_v3_points_to_documents_by_their_hash():
    served = Served()
    paths = (await served.get("/openapi/v3")).json()["paths"]
    url = paths["apis/ai.example.com/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/apis/ai.example.com/v1?hash=")
    right = await served.get(url)
    assert right.json() == {"openapi": "3.0.0"}
    assert right.headers["cache-control"] == "public, immutable"
    assert "expires" in right.headers
    stale = await served.get("/openapi/v3/apis/ai.example.com/v1?hash=STALE")
    assert (stale.status_code, stale.content) == (200, right.content)
    assert "cache-control" not in stale.headers
    assert (await served.get("/openapi/v3/apis/other/v1")).status_code == 404


async def test_openapi_in_protobuf_alone_is_not_acceptable():
    served = Served()
    protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    assert (await served.get("/openapi/v2", headers={"accept": protobuf})).status_code == 406
    both = await served.get("/openapi/v2", headers={"accept": f"{protobuf},application/json"})
    assert both.headers["content-type"] == "application/json"


async def test_metrics_are_in_the_text_format():
    response = await Served().get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    assert "# TYPE apiserver_request_total counter" in response.text


async def test_the_version_has_the_fields_of_kubernetes():
    version = (await Served().get("/version")).json()
    assert version["gitVersion"].startswith("v")
    assert {"major", "minor", "gitCommit", "gitTreeState", "buildDate", "platform"} < version.keys()


async def test_the_index_lists_every_path_and_every_path_answers():
    served = Served()
    paths = (await served.get("/")).json()["paths"]
    assert {"/apis", "/healthz", "/livez/ping", "/metrics", "/openapi/v2", "/version"} <= set(paths)
    for path in paths:
        assert (await served.get(path)).status_code == 200, path


@pytest.mark.parametrize(
    "path", ["/docs", "/redoc", "/openapi.json", "/debug/pprof", "/apis/other", "/nothing"]
)
async def test_an_unknown_path_is_a_404_status(path):
    response = await Served().get(path)
    assert response.status_code == 404
    assert response.json()["message"] == "the server could not find the requested resource"
    assert response.json()["reason"] == "NotFound"


@pytest.mark.parametrize("path", ["/apis", "/version", "/metrics", "/openapi/v2"])
async def test_a_wrong_method_is_a_405_status(path):
    response = await Served().request("POST", path)
    assert (response.status_code, response.json()["reason"]) == (405, "MethodNotAllowed")


async def test_no_path_is_ever_redirected():
    for path in ("/apis/", "/healthz/", "/openapi/v3/", "/version/"):
        response = await Served().get(path)
        assert not 300 <= response.status_code < 400
        assert "location" not in response.headers
