"""The whole application on a real socket, with real storage: the parts fit together."""

from __future__ import annotations

import asyncio

import httpx
import orjson
import pytest

from apiserver.admission.chain import AdmissionChain
from apiserver.apis.ai.resources import RESOURCES
from apiserver.auth.authorizer import local_authorizer
from apiserver.auth.user import UserInfo
from apiserver.endpoints.health import HealthChecks, event_check
from apiserver.registry.build import build_registry
from apiserver.server.application import build_application
from apiserver.server.chain import ChainConfig
from apiserver.server.lifecycle import Lifecycle, Timings, bind, serve
from storage.open import open_store

JOBS = "/apis/ai.example.com/v1/namespaces/ml/inferencejobs"
JOB = {
    "apiVersion": "ai.example.com/v1",
    "kind": "InferenceJob",
    "metadata": {"name": "llama"},
    "spec": {"image": "registry.example.com/vllm:1"},
}


class Administrator:
    """Takes everybody for the administrator."""

    async def authenticate(self, credentials):
        return UserInfo("admin", groups=("system:masters", "system:authenticated"))


@pytest.fixture
async def server(tmp_path):
    """(client, lifecycle) of a running server over SQLite."""
    storage = await open_store(f"sqlite://{tmp_path}/objects.db")
    registry, cache = build_registry(RESOURCES, storage, "/registry", AdmissionChain([]))
    lifecycle = Lifecycle()
    checks = HealthChecks()
    checks.add(
        event_check("shutdown", lifecycle.stopping.is_set, "shutting down", healthy_when=False), ("readyz",)
    )
    config = ChainConfig(Administrator(), local_authorizer(), lifecycle, is_complete=lambda: cache.ready)
    application = build_application(registry, checks, config)
    sock = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        caching = tasks.create_task(cache.run())
        timings = Timings(drain=5, watch_grace=5)
        serving = tasks.create_task(serve(application, [sock], lifecycle, timings=timings))
        await lifecycle.serving.wait()
        await cache.wait_ready()
        async with httpx.AsyncClient(base_url=url, timeout=10) as client:
            yield client, lifecycle
        lifecycle.stop()
        await serving
        caching.cancel()
    await storage.close()


async def test_an_object_is_created_read_and_counted(server):
    client, _ = server
    created = await client.post(JOBS, json=JOB)
    assert created.status_code == 201
    read = await client.get(f"{JOBS}/llama")
    assert read.json() == created.json()
    head = await client.head(f"{JOBS}/llama")
    assert (head.content, head.headers["content-length"]) == (b"", read.headers["content-length"])
    metrics = (await client.get("/metrics")).text
    assert 'apiserver_request_total{code="201"' in metrics


async def test_errors_of_all_parts_are_statuses(server):
    client, _ = server
    for method, path, code in (
        ("GET", f"{JOBS}/nobody", 404),
        ("GET", "/apis/ai.example.com/v1/nothings", 404),
        ("GET", "/nothing", 404),
        ("POST", "/version", 405),
        ("POST", JOBS, 400),
    ):
        response = await client.request(method, path, content=b"{broken")
        assert (response.status_code, response.json()["kind"]) == (code, "Status"), (method, path)
        assert response.headers["audit-id"]


async def test_a_watch_goes_on_through_shutdown_until_it_ends_cleanly(server):
    client, lifecycle = server
    await client.post(JOBS, json=JOB)
    async with client.stream("GET", JOBS, params={"watch": "true"}) as stream:
        assert stream.headers["content-type"] == "application/json"
        lines = stream.aiter_lines()
        assert orjson.loads(await anext(lines))["type"] == "ADDED"
        assert lifecycle.watches == 1
        lifecycle.stop()
        # Without a clean final chunk, httpx would raise.
        assert [line async for line in lines if line] == []


async def test_every_listed_path_answers(server):
    client, _ = server
    paths = (await client.get("/")).json()["paths"]
    assert "/openapi/v3/apis/ai.example.com/v1" in paths
    for path in paths:
        assert (await client.get(path)).status_code == 200, path
