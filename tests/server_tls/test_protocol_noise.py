"""Whatever bytes come in, the protocol answers or closes; it never fails, and serves the next client."""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl

from apiserver.server.protocol import APIProtocol
from apiserver.server.tls import ServerTLS

from .conftest import client_context, serving

SEEDS = (
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"PUT /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"CONNECT host:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /%ff%00 HTTP/1.0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
)
ROUNDS = 150


class Brief(APIProtocol):
    """Ends quickly what noise has left open."""

    head_seconds = 0.05
    linger_seconds = 0.05


async def echo(scope, receive, send) -> None:
    """Reads the body of some requests and ignores that of others."""
    body = b""
    if scope["method"] == "POST":
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def noise(source: random.Random) -> bytes:
    """One or two requests, with some bytes changed, dropped, repeated or put in."""
    data = bytearray(b"".join(source.choices(SEEDS, k=source.randint(1, 2))))
    for _ in range(source.randint(0, 4)):
        place = source.randrange(len(data) + 1)
        change = source.randrange(4)
        if change == 0:
            data[place:place] = source.randbytes(source.randint(1, 8))
        elif change == 1:
            del data[place : place + source.randint(1, 8)]
        elif change == 2:
            data[place:place] = data[place : place + 20] * source.randint(1, 50)
        else:
            data[place : place + 1] = source.choice((b"\r", b"\n", b" ", b":", b"\x00", b"9"))
    return bytes(data)


async def test_noise_neither_fails_nor_stays(pki, tmp_path, caplog):
    failures = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failures.append(context))
    source = random.Random(20260601)
    ca = pki("serving")
    pair = ca.serving()
    context = client_context(ca.pem, tmp_path)
    async with serving(echo, ServerTLS(pair.cert_pem, pair.key_pem), protocol=Brief) as running:

        async def shout(data: bytes) -> None:
            reader, writer = await asyncio.open_connection("localhost", running.port, ssl=context)
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                for start in range(0, len(data), 200):
                    writer.write(data[start : start + 200])
                    await writer.drain()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(), 0.02)
            writer.transport.abort()

        for _ in range(ROUNDS):
            await shout(noise(source))
        reader, writer = await asyncio.open_connection("localhost", running.port, ssl=context)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nstill")
        assert b"still" in await asyncio.wait_for(reader.read(), 5)
        writer.close()
        async with asyncio.timeout(5):
            while running.server.server_state.connections or running.server.server_state.tasks:
                await asyncio.sleep(0.01)
    assert failures == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
