"""What a connection may hold: heads bounded in size and time, a Status for what is no request."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

import orjson
import pytest

from apiserver.server.protocol import KEEP_ALIVE_SECONDS, APIProtocol
from apiserver.server.tls import ServerTLS

from .conftest import client_context, serving


class Impatient(APIProtocol):
    """Waits for a moment only."""

    head_seconds = 0.2
    linger_seconds = 0.2
    max_head_bytes = 16 << 10


async def hello(scope, receive, send) -> None:
    """Answers at once, without reading the body."""
    body = scope["path"].encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
async def running(pki):
    ca = pki("serving")
    pair = ca.serving()
    async with serving(hello, ServerTLS(pair.cert_pem, pair.key_pem), protocol=Impatient) as server:
        yield server, ca


@pytest.fixture
async def connection(running, tmp_path):
    server, ca = running
    context: ssl.SSLContext = client_context(ca.pem, tmp_path)
    reader, writer = await asyncio.open_connection("localhost", server.port, ssl=context)
    yield reader, writer
    writer.close()
    with contextlib.suppress(ssl.SSLError, ConnectionError):  # the server may have closed it first
        await writer.wait_closed()


async def everything(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return await reader.read()


def status_of(answer: bytes) -> dict:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head
    return orjson.loads(body)


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line
        )
        return await reader.readexactly(length)


def test_idle_connections_live_longer_than_kube_apiserver_keeps_them():
    assert KEEP_ALIVE_SECONDS > 120


async def test_a_head_that_never_ends_is_cut_off(connection):
    reader, writer = connection
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
    assert status_of(await everything(reader))["code"] == 408


async def test_a_second_head_on_the_connection_is_timed_as_well(connection):
    reader, writer = connection
    writer.write(b"GET /one HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await answer_of(reader) == b"/one"
    writer.write(b"GET /two HTTP/1.1\r\nHost")
    assert status_of(await everything(reader))["code"] == 408


async def test_a_silent_connection_is_closed(connection):
    reader, _ = connection
    assert await everything(reader) == b""


async def test_a_head_that_is_too_large_is_refused(connection):
    reader, writer = connection
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX-Big: " + b"a" * (20 << 10))
    assert status_of(await everything(reader))["code"] == 431


async def test_an_idle_connection_is_kept(connection):
    reader, writer = connection
    writer.write(b"GET /one HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await answer_of(reader) == b"/one"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(1), 0.5)  # longer than both short limits
    writer.write(b"GET /two HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await answer_of(reader) == b"/two"


async def test_what_is_no_http_gets_a_status(connection):
    reader, writer = connection
    writer.write(b"hello?\r\n\r\n")
    assert status_of(await everything(reader))["reason"] == "BadRequest"


async def test_pipelined_requests_are_all_answered(connection):
    reader, writer = connection
    writer.write(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(5)))
    assert [await answer_of(reader) for _ in range(5)] == [b"/%d" % number for number in range(5)]


async def test_a_body_that_is_not_awaited_does_not_hold_the_connection(connection):
    reader, writer = connection
    writer.write(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nstart")
    assert b"/early" in await everything(reader)


async def test_a_body_that_ends_soon_after_the_answer_keeps_the_connection(connection):
    reader, writer = connection
    writer.write(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
    assert await answer_of(reader) == b"/early"
    writer.write(b"body")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(1), 0.5)
    writer.write(b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await answer_of(reader) == b"/next"


async def test_an_upgrade_is_answered_as_a_plain_request(connection):
    reader, writer = connection
    writer.write(b"GET /plain HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    answer = await everything(reader)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"/plain")
