"""Bytes on the TLS port that no client of ours would send: each connection ends with a Status, or is closed.

Nothing fails inside, nothing stays behind, and the next client is served as if nothing had been.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import random
import ssl
import weakref
from typing import ClassVar

import orjson
import pytest
import uvloop

from apiserver.server.protocol import APIProtocol

from .target import JOBS, target
from .wire import Wire, answers, listening, reason_of

ROUNDS = int(os.environ.get("FUZZ_EXAMPLES", "3000")) // 20
JOBS_PATH = JOBS.encode()
HOST = b"Host: x\r\n"
CLOSE = b"Host: x\r\nConnection: close\r\n"
JOB = b'{"apiVersion":"ai.example.com/v1","kind":"InferenceJob","metadata":{"name":"a"},"spec":{"image":"x"}}'


class Impatient(APIProtocol):
    """Waits for a moment only."""

    head_seconds = 0.5
    linger_seconds = 0.2
    stall_seconds = 0.3
    pipeline_seconds = 0.5
    alive: ClassVar[weakref.WeakSet[APIProtocol]] = weakref.WeakSet()

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        self.alive.add(self)


def pytest_asyncio_loop_factories(config, item):
    """The loop that the server runs on."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def wire(tmp_path, caplog):
    """A listening server; afterwards there has been no failure, and no connection is left."""
    failures: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failures.append(context))
    async with target(tmp_path) as served, listening(served, Impatient) as listener:
        yield listener
        [(code, _)] = answers(await listener.exchange(b"GET /version HTTP/1.1\r\n" + CLOSE + b"\r\n"))
        assert code == 200
        assert served.lifecycle.requests == 0
    assert failures == []
    assert served.faults == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def get(
    path: bytes = JOBS_PATH, headers: bytes = b"", method: bytes = b"GET", version: bytes = b"HTTP/1.1"
) -> bytes:
    return method + b" " + path + b" " + version + b"\r\n" + CLOSE + headers + b"\r\n"


def post(headers: bytes, body: bytes) -> bytes:
    return b"POST " + JOBS_PATH + b" HTTP/1.1\r\n" + CLOSE + headers + b"\r\n" + body


ONE = {
    "a plain request": (get(), 200),
    "absolute form": (get(b"https://elsewhere" + JOBS_PATH), 200),
    "absolute form without a path": (get(b"https://elsewhere"), 400),
    "a fragment": (get(JOBS_PATH + b"#x"), 200),
    "HTTP 1.0": (get(version=b"HTTP/1.0"), 200),
    "HTTP 3": (get(version=b"HTTP/3.0"), 400),
    "the preface of HTTP 2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "TLS in TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500, 400),
    "all bytes": (bytes(range(256)) * 4, 400),
    "an unknown method": (get(method=b"FOO"), 405),
    "an unknown method in small letters": (get(method=b"get"), 405),
    "a method of symbols": (get(method=b"!#$%"), 405),
    "an endless method": (get(method=b"F" * 5_000), 400),
    "OPTIONS": (get(method=b"OPTIONS"), 405),
    "TRACE": (get(method=b"TRACE"), 405),
    "PROPFIND": (get(method=b"PROPFIND"), 405),
    "CONNECT": (b"CONNECT host:443 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "OPTIONS for the server": (get(b"*", method=b"OPTIONS"), 404),
    "no path": (get(b""), 400),
    "a path without a slash": (get(b"apis"), 400),
    "a path with a blank": (get(JOBS_PATH + b"/a b"), 400),
    "a path with a NUL": (get(JOBS_PATH + b"\0"), 400),
    "a path with an escaped NUL": (get(JOBS_PATH + b"/%00"), 404),
    "a path with a broken escape": (get(JOBS_PATH + b"/%zz"), 404),
    "a path that is no UTF-8": (get(JOBS_PATH + b"/%ff%fe"), 404),
    "a path of raw bytes": (get(JOBS_PATH + b"/\xff"), 400),
    "an escaped slash": (get(JOBS_PATH + b"%2Fa"), 404),
    "a head of 2 MiB": (get(headers=b"X: " + b"a" * (2 << 20) + b"\r\n"), 431),
    "a path of 2 MiB": (get(b"/" + b"a" * (2 << 20)), 431),
    "a query of 100 kB": (get(JOBS_PATH + b"?a=" + b"b" * 100_000), 414),
    "a query of 60 kB": (get(JOBS_PATH + b"?a=" + b"b" * 60_000), 200),
    "sixty thousand headers": (get(headers=b"".join(b"X%d: a\r\n" % n for n in range(60_000))), 200),
    "a header with a NUL": (get(headers=b"Audit-ID: a\0b\r\n"), 400),
    "a header with a control character": (get(headers=b"Audit-ID: a\x01b\r\n"), 400),
    "a header with DEL": (get(headers=b"Audit-ID: a\x7fb\r\n"), 400),
    "a header with a tab": (get(headers=b"Audit-ID: a\tb\r\n"), 200),
    "a header of high bytes": (get(headers=b"Audit-ID: \xff\xfe\r\n"), 200),
    "a folded header": (get(headers=b"X: a\r\n b\r\n"), 400),
    "a header without a colon": (get(headers=b"Host\r\n"), 400),
    "a header without a name": (get(headers=b": x\r\n"), 400),
    "a header with a blank before the colon": (get(headers=b"X : x\r\n"), 400),
    "bare line feeds": (b"GET " + JOBS_PATH + b" HTTP/1.1\nHost: x\n\n", 400),
    "blank lines first": (b"\r\n\r\n" + get(), 200),
    "both lengths": (
        post(b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\nGET /metrics"),
        400,
    ),
    "two lengths": (post(b"Content-Length: 3\r\nContent-Length: 4\r\n", b"abcd"), 400),
    "a negative length": (post(b"Content-Length: -3\r\n", b""), 400),
    "a signed length": (post(b"Content-Length: +3\r\n", b"abc"), 400),
    "a length beyond all numbers": (post(b"Content-Length: 99999999999999999999999\r\n", b""), 400),
    "a length beyond the limit": (post(b"Content-Length: 9000000\r\n", b" " * 4_000_000), 413),
    "more than the length": (post(b"Content-Length: 2\r\n", b"{}GET /metrics HTTP/1.1\r\n\r\n"), 400),
    "an unknown transfer encoding": (post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"), 400),
    "chunked, then something": (post(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n"), 400),
    "a chunk of no size": (post(b"Transfer-Encoding: chunked\r\n", b"zz\r\n"), 400),
    "a chunk of any size": (post(b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffffff\r\n"), 400),
    "a chunk that is longer": (post(b"Transfer-Encoding: chunked\r\n", b"2\r\nabcd\r\n0\r\n\r\n"), 400),
    "many small chunks": (
        post(b"Transfer-Encoding: chunked\r\n", b"1\r\n \r\n" * 50_000 + b"0\r\n\r\n"),
        400,
    ),
    "more in chunks than may be": (
        post(
            b"Transfer-Encoding: chunked\r\n",
            b"100000\r\n" + b" " * 0x100000 + b"\r\n" + (b"100000\r\n" + b" " * 0x100000 + b"\r\n") * 3,
        ),
        413,
    ),
    "a trailer that speaks for a user": (
        post(b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\nX-Remote-User: admin\r\n\r\n"),
        400,
    ),
    "a body for GET": (get(headers=b"Content-Length: 4\r\n") + b"abcd", 200),
    "expecting to go on": (post(b"Expect: 100-continue\r\nContent-Length: 2\r\n", b"{}"), 400),
    "expecting something else": (post(b"Expect: 999\r\nContent-Length: 2\r\n", b"{}"), 400),
    "an upgrade": (get(headers=b"Connection: Upgrade\r\nUpgrade: h2c\r\n"), 200),
    "a compressed body": (post(b"Content-Encoding: gzip\r\nContent-Length: 4\r\n", b"\x1f\x8b\x08\x00"), 400),
}


@pytest.mark.parametrize("case", ONE)
async def test_a_request(wire, case):
    data, expected = ONE[case]
    received = answers(await wire.exchange(data))
    assert [code for code, _ in received[:1]] == [expected]
    if expected >= 400:
        status = orjson.loads(received[0][1])
        assert (status["kind"], status["code"], bool(status["reason"])) == ("Status", expected, True)
    # Nothing of what follows one request is taken for another one where its end is in doubt.
    assert len(received) == 1


async def test_a_client_that_closes_its_half_gets_its_answer(wire):
    [(code, _)] = answers(await wire.exchange(get(), half_close=True))
    assert code == 200


@pytest.mark.parametrize("length", [0, 1, 5, 20, 60])
async def test_a_connection_that_is_dropped_leaves_nothing(wire, length):
    for _ in range(20):
        _, writer = await wire.connect()
        writer.write(post(b"Content-Length: 100\r\n", JOB)[:length])
        writer.transport.abort()


async def test_a_body_that_trickles_is_cut_off_at_the_time_limit(tmp_path):
    async with target(tmp_path, request_timeout=0.5) as served, listening(served, Impatient) as wire:
        reader, writer = await wire.connect()
        writer.write(post(b"Content-Length: 1000\r\n", b""))
        received = asyncio.ensure_future(reader.read())
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            for _ in range(50):
                writer.write(b" ")
                await asyncio.wait([received], timeout=0.05)
        [(code, body)] = answers(await asyncio.wait_for(received, 5))
        assert (code, reason_of(body)) == (504, "Timeout")
        writer.transport.abort()


async def test_slow_heads_do_not_stand_in_the_way_of_others(wire):
    slow = [await wire.connect() for _ in range(100)]
    for _, writer in slow:
        writer.write(b"GET " + JOBS_PATH + b" HTTP/1.1\r\nX: ")
    [(code, _)] = answers(await wire.exchange(get()))
    assert code == 200
    for reader, writer in slow:
        [(code, _)] = answers(await asyncio.wait_for(reader.read(), 10))
        assert code == 408
        writer.transport.abort()


async def test_pipelined_requests_are_answered_in_order(wire):
    paths = [b"/version", b"/nothing", JOBS_PATH] * 100
    data = b"".join(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n" for path in paths) + get()
    assert [code for code, _ in answers(await wire.exchange(data, 30))] == [200, 404, 200] * 100 + [200]


async def test_who_pipelines_behind_a_watch_and_leaves_is_noticed(wire):
    reader, writer = await wire.connect()
    watch = b"GET " + JOBS_PATH + b"?watch=1 HTTP/1.1\r\n" + HOST + b"\r\n"
    writer.write(watch + watch)
    await reader.readuntil(b"\r\n\r\n")
    assert wire.target.lifecycle.watches == 1
    async with asyncio.timeout(10):
        assert await reader.read() == b""
        while wire.target.lifecycle.watches:
            await asyncio.sleep(0.01)
    writer.transport.abort()


async def large_objects(wire: Wire, count: int) -> None:
    """Objects of 600 kB."""
    for number in range(count):
        body = JOB.replace(b'"a"', b'"a%d"' % number).replace(b'"x"', b'"x","args":["%s"]' % (b"y" * 600_000))
        headers = b"Content-Length: %d\r\n" % len(body)
        [(code, _)] = answers(await wire.exchange(post(headers, body)))
        assert code == 201


@pytest.mark.parametrize("query", [b"", b"?watch=1"])
async def test_a_peer_that_takes_nothing_of_an_answer_is_cut_off(wire, query):
    await large_objects(wire, 20)
    reader, writer = await wire.connect()
    writer.transport.pause_reading()
    writer.write(get(JOBS_PATH + query))
    lifecycle = wire.target.lifecycle
    async with asyncio.timeout(10):
        while not lifecycle.requests + lifecycle.watches:
            await asyncio.sleep(0.01)
        while lifecycle.requests + lifecycle.watches:
            await asyncio.sleep(0.01)
    writer.transport.abort()
    # The answer was broken off, not finished; what is left of it is not all of it.
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        assert len(await reader.read(1 << 26)) < 12_000_000


async def test_a_connection_that_is_lost_leaves_no_work_to_the_garbage_collector(wire):
    await large_objects(wire, 4)
    gc.collect()
    gc.disable()
    try:
        for query in (b"", b"?watch=1") * 5:
            _, writer = await wire.connect()
            writer.transport.pause_reading()
            writer.write(get(JOBS_PATH + query))
            await asyncio.sleep(0.05)
            writer.transport.abort()
        async with asyncio.timeout(10):
            while Impatient.alive:
                await asyncio.sleep(0.01)
    finally:
        gc.enable()


async def test_a_peer_that_is_slow_gets_everything(wire):
    await large_objects(wire, 8)
    reader, writer = await wire.connect()
    writer.write(get())
    received = b""
    async with asyncio.timeout(20):
        while chunk := await reader.read(1 << 16):
            received += chunk
            if len(received) % 7 == 0:
                await asyncio.sleep(0.02)
    [(code, body)] = answers(received)
    assert (code, len(orjson.loads(body)["items"])) == (200, 8)
    writer.transport.abort()


async def test_a_watcher_that_leaves_is_noticed(wire):
    writers = []
    for _ in range(20):
        reader, writer = await wire.connect()
        writer.write(get(JOBS_PATH + b"?watch=1"))
        await reader.readuntil(b"\r\n\r\n")
        writers.append(writer)
    assert wire.target.lifecycle.watches == 20
    for number, writer in enumerate(writers):
        writer.transport.abort() if number % 2 else writer.close()
    async with asyncio.timeout(10):
        while wire.target.lifecycle.watches:
            await asyncio.sleep(0.01)


def noise(source: random.Random) -> bytes:
    """A few requests, with some bytes changed, dropped, repeated or put in."""
    seeds = [data for data, _ in ONE.values() if len(data) < 2_000]
    data = bytearray(b"".join(source.choices(seeds, k=source.randint(1, 3))))
    for _ in range(source.randint(0, 5)):
        place = source.randrange(len(data) + 1)
        change = source.randrange(4)
        if change == 0:
            data[place:place] = source.randbytes(source.randint(1, 8))
        elif change == 1:
            del data[place : place + source.randint(1, 8)]
        elif change == 2:
            data[place:place] = data[place : place + 20] * source.randint(1, 50)
        else:
            data[place : place + 1] = source.choice(
                (b"\r", b"\n", b"\r\n\r\n", b" ", b":", b"\x00", b"9", b"%", b"/")
            )
    return bytes(data)


async def shout(wire: Wire, data: bytes, cuts: list[int]) -> None:
    reader, writer = await wire.connect()
    with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            writer.write(data[begin:end])
            await writer.drain()
        received = await asyncio.wait_for(reader.read(1 << 20), 0.05)
        assert b"Traceback" not in received
        assert not received or received.startswith(b"HTTP/1.1 ")
        assert not received.startswith(b"HTTP/1.1 500")
    writer.transport.abort()


async def test_noise_neither_fails_nor_stays(wire):
    source = random.Random(int(os.environ.get("FUZZ_SEED", "20260601")))
    for _ in range(ROUNDS):
        data = noise(source)
        cuts = sorted(source.randrange(len(data) + 1) for _ in range(source.randint(0, 3)))
        await shout(wire, data, cuts)
    async with asyncio.timeout(10):
        while wire.target.lifecycle.watches or wire.target.lifecycle.requests:
            await asyncio.sleep(0.01)
