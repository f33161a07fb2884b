"""The target behind a real socket with TLS, and a client that speaks in bytes."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson

from apiserver.server.lifecycle import Timings, bind, serve
from apiserver.server.protocol import APIProtocol
from apiserver.server.tls import ServerTLS
from certs import Names
from certs.authority import make_authority
from certs.serving import issue_serving

from .target import Target

DAY = timedelta(days=1)
TIMINGS = Timings(drain=2, watch_grace=2)


@dataclass(frozen=True)
class Wire:
    """A listening server."""

    port: int
    context: ssl.SSLContext
    target: Target

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new connection."""
        return await asyncio.open_connection("localhost", self.port, ssl=self.context, limit=1 << 24)

    async def exchange(self, data: bytes, seconds: float = 10, *, half_close: bool = False) -> bytes:
        """Everything that comes back for some bytes, until the server closes or the time is up."""
        reader, writer = await self.connect()
        received = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(seconds):
                writer.write(data)
                await writer.drain()
                if half_close and writer.can_write_eof():
                    writer.write_eof()
                while chunk := await reader.read(1 << 16):
                    received += chunk
        writer.transport.abort()
        return received


@asynccontextmanager
async def listening(
    target: Target,
    protocol: type[APIProtocol] = APIProtocol,
    timings: Timings = TIMINGS,
) -> AsyncIterator[Wire]:
    """Serve the target on a free port until the block ends."""
    now = datetime.now(UTC)
    authority = make_authority("fuzz", now, DAY)
    pair = issue_serving(authority, Names("inference-apiserver", "ai"), now, DAY)
    tls = ServerTLS(pair.cert_pem, pair.key_pem)
    context = ssl.create_default_context(cadata=authority.cert_pem.decode())
    sock = bind("127.0.0.1", 0)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(
            serve(target.app, [sock], target.lifecycle, tls=tls.context, protocol=protocol, timings=timings)
        )
        await target.lifecycle.serving.wait()
        try:
            yield Wire(sock.getsockname()[1], context, target)
        finally:
            target.lifecycle.stop()
            await serving


def answers(received: bytes) -> list[tuple[int, bytes]]:
    """Code and body of each answer in what came back. Raises ValueError for what is no HTTP."""
    found = []
    while received:
        head, split, rest = received.partition(b"\r\n\r\n")
        if not split:
            raise ValueError(f"half a head: {head[:100]!r}")
        lines = head.split(b"\r\n")
        if not lines[0].startswith(b"HTTP/1.1 "):
            raise ValueError(f"no HTTP: {lines[0][:100]!r}")
        code = int(lines[0].split(b" ")[1])
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in lines[1:])
        }
        if code == 100:
            received = rest
            continue
        if headers.get(b"transfer-encoding") == b"chunked":
            body, received = _unchunk(rest)
        else:
            length = int(headers.get(b"content-length", b"0"))
            body, received = rest[:length], rest[length:]
        found.append((code, body))
    return found


def _unchunk(rest: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        size, split, rest = rest.partition(b"\r\n")
        if not split:
            return body, b""
        length = int(size, 16)
        body, rest = body + rest[:length], rest[length + 2 :]
        if not length:
            return body, rest


def reason_of(body: bytes) -> str:
    """The reason of a Status."""
    status = orjson.loads(body)
    assert (status["kind"], status["status"]) == ("Status", "Failure")
    return str(status["reason"])
