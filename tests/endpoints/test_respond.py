"""How answers are written: encodings, errors, warnings."""

from __future__ import annotations

import gzip

import orjson
import pytest

from apiserver.endpoints.negotiation import Accepted
from apiserver.endpoints.request import SCOPE_KEY, Request, RequestInfo
from apiserver.endpoints.respond import encode, send_bytes, send_status, warning_headers
from apiserver.machinery import errors


class Sent:
    """Collects what is sent."""

    def __init__(self):
        self.messages = []

    async def __call__(self, message):
        self.messages.append(message)

    @property
    def status(self):
        return self.messages[0]["status"]

    @property
    def headers(self):
        return dict(self.messages[0]["headers"])

    @property
    def body(self):
        return b"".join(message["body"] for message in self.messages[1:])


def request(method="GET", **headers):
    raw = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return Request(RequestInfo(False, "/", method.lower(), method), headers=raw)


async def test_a_body_is_sent_with_its_type_and_length():
    sent = Sent()
    await send_bytes(sent, request(), 201, "application/json", b"{}", [(b"x", b"y")])
    assert sent.status == 201
    assert sent.headers == {b"content-type": b"application/json", b"content-length": b"2", b"x": b"y"}
    assert sent.body == b"{}"


@pytest.mark.parametrize("size", [128 * 1024 + 1, 2_000_000])
async def test_a_large_body_is_compressed_for_who_takes_gzip(size):
    sent, body = Sent(), b"x" * size
    await send_bytes(sent, request(accept_encoding=b"br, gzip"), 200, "application/json", body)
    assert sent.headers[b"content-encoding"] == b"gzip"
    assert sent.headers[b"vary"] == b"Accept-Encoding"
    assert int(sent.headers[b"content-length"]) == len(sent.body) < size
    assert gzip.decompress(sent.body) == body


@pytest.mark.parametrize(
    ("size", "encoding"), [(128 * 1024, b"gzip"), (1 << 20, b"br"), (1 << 20, b"gzip;q=1"), (1 << 20, b"")]
)
async def test_other_bodies_go_as_they_are(size, encoding):
    sent = Sent()
    await send_bytes(sent, request(accept_encoding=encoding), 200, "application/json", b"x" * size)
    assert b"content-encoding" not in sent.headers
    assert len(sent.body) == size


async def test_head_gets_the_headers_alone():
    sent = Sent()
    await send_bytes(sent, request("HEAD"), 200, "application/json", b"{}")
    assert sent.headers[b"content-length"] == b"2"
    assert sent.body == b""


async def test_304_has_neither_body_nor_type():
    sent = Sent()
    await send_bytes(sent, request(), 304, "application/json", b"{}", [(b"etag", b"x")])
    assert sent.headers == {b"etag": b"x"}
    assert sent.body == b""


async def test_an_error_is_a_status_with_its_headers():
    sent = Sent()
    await send_status(sent, {SCOPE_KEY: request()}, errors.too_many_requests("slow down", 3))
    assert sent.status == 429
    assert sent.headers[b"retry-after"] == b"3"
    assert sent.headers[b"content-type"] == b"application/json"
    assert [name for name, _ in sent.messages[0]["headers"]].count(b"retry-after") == 1
    assert orjson.loads(sent.body)["details"] == {"retryAfterSeconds": 3}
    assert sent.body.endswith(b"}\n")


async def test_an_error_is_yaml_for_who_asks_for_yaml():
    sent = Sent()
    await send_status(sent, {SCOPE_KEY: request(accept=b"application/yaml")}, errors.bad_request("broken"))
    assert sent.headers[b"content-type"] == b"application/yaml"
    assert b"message: broken\n" in sent.body


async def test_an_error_reaches_who_accepts_nothing_that_there_is():
    sent = Sent()
    await send_status(sent, {SCOPE_KEY: request(accept=b"image/png")}, errors.bad_request("no"))
    assert (sent.status, sent.headers[b"content-type"]) == (400, b"application/json")


def test_json_is_indented_on_demand():
    assert encode({"a": [1]}, Accepted("application/json")) == b'{"a":[1]}\n'
    assert encode({"a": 1}, Accepted("application/json", pretty=True)) == b'{\n  "a": 1\n}\n'


def test_warnings_are_quoted_and_told_once():
    assert warning_headers(['a "b" \\', "x", "x", ""]) == [
        (b"warning", rb'299 - "a \"b\" \\"'),
        (b"warning", b'299 - "x"'),
    ]


def test_warnings_with_control_characters_are_left_out():
    assert warning_headers(["line\r\nSet-Cookie: x"]) == []


def test_many_warnings_are_cut_short():
    headers = warning_headers([f"{i} {'x' * 500}" for i in range(100)])
    assert len(headers) == 16
    assert sum(len(value) for _, value in headers) < 4096 + 16 * 10
