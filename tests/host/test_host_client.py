"""The host client against a small real HTTP server: pages, errors, watches, credentials."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from apiserver.host import HostClient, HostUnreachable
from apiserver.host.config import proxy_of_environment
from apiserver.machinery.errors import APIError

Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handle], Awaitable[HostClient]]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Starts a server for one handler and gives a client of it."""
    closing: list[Callable[[], Awaitable[None]]] = []

    async def start(handle: Handle) -> HostClient:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        client = await HostClient.from_kubeconfig(write_config(tmp_path, f"http://127.0.0.1:{port}"))
        closing.extend((client.close, runner.cleanup))
        return client

    yield start
    for close in closing:
        await close()


def write_config(folder: Path, server: str) -> str:
    (folder / "token").write_text("first")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"tokenFile": str(folder / "token")}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


async def test_an_object_is_read_with_the_token_of_the_kubeconfig(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response({"path": request.path, "auth": request.headers["Authorization"]})

    client = await serve(handle)
    answer = await client.get("/api/v1/nodes/a")
    assert answer == {"path": "/api/v1/nodes/a", "auth": "Bearer first"}


async def test_a_status_becomes_the_error_it_tells_of(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.Response:
        status = {
            "kind": "Status",
            "code": 409,
            "reason": "Conflict",
            "message": "nope",
            "details": {"name": "a", "kind": "pods", "causes": [{"reason": "R", "field": "f"}]},
        }
        return web.json_response(status, status=409)

    client = await serve(handle)
    with pytest.raises(APIError) as caught:
        await client.update("/api/v1/namespaces/x/pods/a", {})
    error = caught.value
    assert (error.code, error.reason, error.name, error.causes[0].field) == (409, "Conflict", "a", "f")


async def test_an_error_that_is_no_status_keeps_its_code_and_retry_after(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=503, text="upstream gone", headers={"Retry-After": "7"})

    client = await serve(handle)
    with pytest.raises(APIError) as caught:
        await client.get("/x")
    assert (caught.value.reason, caught.value.message) == ("ServiceUnavailable", "upstream gone")
    assert caught.value.retry_after_seconds == 7


async def test_no_answer_is_unreachable(serve: Serve, tmp_path: Path) -> None:
    async def handle(request: web.Request) -> web.Response:
        await asyncio.sleep(5)
        return web.Response()

    client = await serve(handle)
    with pytest.raises(HostUnreachable):
        await client.get("/slow", timeout=0.05)
    closed = await HostClient.from_kubeconfig(write_config(tmp_path, "http://127.0.0.1:9"))
    with pytest.raises(HostUnreachable):
        await closed.get("/x")
    await closed.close()


async def test_an_answer_that_is_no_json_is_unreachable(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text="<html>")

    client = await serve(handle)
    with pytest.raises(HostUnreachable, match="no JSON"):
        await client.get("/x")


async def test_a_list_is_read_page_by_page(serve: Serve) -> None:
    seen: list[dict[str, str]] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append(dict(request.query))
        page = int(request.query.get("continue", "0"))
        metadata = {"resourceVersion": "9", "continue": str(page + 1) if page < 2 else ""}
        return web.json_response({"kind": "PodList", "metadata": metadata, "items": [{"n": page}]})

    client = await serve(handle)
    answer = await client.list("/api/v1/pods", query={"resourceVersion": "0", "labelSelector": "a=b"})
    assert [item["n"] for item in answer["items"]] == [0, 1, 2]
    assert answer["metadata"] == {"resourceVersion": "9"}
    assert "resourceVersion" not in seen[1], "a page after the first must not name a revision"
    assert seen[1]["labelSelector"] == "a=b"


async def test_a_list_whose_revision_expires_between_pages_starts_over_in_one_piece(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.Response:
        if "continue" in request.query:
            return web.json_response({"kind": "Status", "code": 410, "reason": "Expired"}, status=410)
        if "limit" in request.query:
            return web.json_response({"metadata": {"continue": "x"}, "items": [{"n": 0}]})
        return web.json_response({"metadata": {"resourceVersion": "5"}, "items": [{"n": 1}, {"n": 2}]})

    client = await serve(handle)
    assert [item["n"] for item in (await client.list("/api/v1/pods"))["items"]] == [1, 2]


async def test_watch_events_come_through_however_the_bytes_are_cut(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.query["watch"] == "true"
        response = web.StreamResponse()
        await response.prepare(request)
        lines = [
            b'{"type":"ADDED","object":{"n":1}}',
            b'{"type":"MODIFIED","object":{}}',
            b'{"type":"DELETED"}',
        ]
        text = b"\n".join(lines)
        for start in range(0, len(text), 7):
            await response.write(text[start : start + 7])
            await asyncio.sleep(0)
        return response

    client = await serve(handle)
    events = [event["type"] async for event in client.watch("/api/v1/pods")]
    assert events == ["ADDED", "MODIFIED", "DELETED"]


async def test_an_error_event_raises_what_it_tells_of(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.Response:
        status = '{"kind":"Status","code":410,"reason":"Expired","message":"too old"}'
        return web.Response(text=f'{{"type":"ERROR","object":{status}}}\n')

    client = await serve(handle)
    with pytest.raises(APIError) as caught:
        _ = [event async for event in client.watch("/api/v1/pods")]
    assert caught.value.code == 410


async def test_a_watch_that_falls_silent_is_noticed(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED","object":{}}\n')
        await asyncio.sleep(30)
        return response

    client = await serve(handle)
    events = aiter(client.watch("/api/v1/pods", timeout=0.1))
    assert (await anext(events))["type"] == "ADDED"
    with pytest.raises(HostUnreachable, match="broke"):
        await anext(events)


async def test_a_401_is_tried_again_once_with_credentials_read_anew(serve: Serve, tmp_path: Path) -> None:
    async def handle(request: web.Request) -> web.Response:
        good = request.headers["Authorization"] == "Bearer second"
        return web.json_response({"ok": good}, status=200 if good else 401)

    client = await serve(handle)
    with pytest.raises(APIError) as caught:
        await client.get("/x")
    assert caught.value.reason == "Unauthorized"
    (tmp_path / "token").write_text("second")
    assert await client.get("/x") == {"ok": True}
    assert await client.create("/x", {}) == {"ok": True}


async def test_patches_carry_their_content_type_and_deletes_their_options(serve: Serve) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response({"type": request.content_type, "body": await request.json()})

    client = await serve(handle)
    patched = await client.patch("/x", [{"op": "add"}], content_type="application/json-patch+json")
    assert patched == {"type": "application/json-patch+json", "body": [{"op": "add"}]}
    applied = await client.patch("/x", {"a": 1}, content_type="application/apply-patch+yaml")
    assert applied["type"] == "application/apply-patch+yaml"
    assert (await client.delete("/x", {"gracePeriodSeconds": 0}))["body"] == {"gracePeriodSeconds": 0}


async def test_a_missing_kubeconfig_says_so(tmp_path: Path) -> None:
    with pytest.raises(HostUnreachable, match="no usable configuration"):
        await HostClient.from_kubeconfig(str(tmp_path / "none"))


def test_the_proxy_of_the_environment_is_used_but_for_hosts_that_it_excludes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert proxy_of_environment("https://api.example.com:6443") is None
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", ".local,10.0.0.1")
    assert proxy_of_environment("https://api.example.com:6443") == "http://proxy:3128"
    assert proxy_of_environment("https://10.0.0.1:443") is None
    assert proxy_of_environment("https://kubernetes.local") is None
