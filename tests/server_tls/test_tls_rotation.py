"""The TLS context of a real server, while certificates and authorities change under it."""

from __future__ import annotations

import asyncio
import ssl

import httpx
import pytest

from apiserver.server.protocol import peer_certificates
from apiserver.server.tls import ServerTLS, TLSError
from certs import KeyPair

from .conftest import client_context, der, serving


async def whoami(scope, receive, send) -> None:
    """Answers with the length of the peer's certificate chain and a digest of its leaf."""
    leaf, others = peer_certificates(scope)
    body = (leaf.hex() if leaf else "none") + f" {len(others)}"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body.encode()})


@pytest.fixture
def ca(pki):
    return pki("serving")


@pytest.fixture
def tls(ca):
    pair = ca.serving()
    return ServerTLS(pair.cert_pem, pair.key_pem)


async def shown_certificate(
    running, trusted: bytes, tmp_path, *, server_name: str | None = "localhost"
) -> bytes:
    """The certificate that a new handshake gets, in DER."""
    context = client_context(trusted, tmp_path)
    if server_name is None:
        context.check_hostname = False
    _, writer = await asyncio.open_connection(
        "127.0.0.1", running.port, ssl=context, server_hostname=server_name or ""
    )
    try:
        return writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
        await writer.wait_closed()


async def test_the_aggregators_server_name_verifies(ca, tls, tmp_path):
    async with serving(whoami, tls) as running:
        name = "inference-apiserver.ai.svc"
        assert await shown_certificate(running, ca.pem, tmp_path, server_name=name)


async def test_a_new_certificate_is_shown_to_new_handshakes(ca, tls, tmp_path):
    async with serving(whoami, tls) as running:
        before = await shown_certificate(running, ca.pem, tmp_path)
        fresh = ca.serving()
        tls.set_certificate(fresh.cert_pem, fresh.key_pem)
        assert await shown_certificate(running, ca.pem, tmp_path) == der(fresh) != before


async def test_a_client_without_a_server_name_gets_the_new_certificate_too(ca, tls, tmp_path):
    async with serving(whoami, tls) as running:
        fresh = ca.serving()
        tls.set_certificate(fresh.cert_pem, fresh.key_pem)
        assert await shown_certificate(running, ca.pem, tmp_path, server_name=None) == der(fresh)


async def test_open_connections_survive_a_rotation(ca, tls, tmp_path):
    async with (
        serving(whoami, tls) as running,
        httpx.AsyncClient(verify=client_context(ca.pem, tmp_path)) as client,
    ):
        first = await client.get(running.url)
        port = first.extensions["network_stream"].get_extra_info("client_addr")
        fresh = ca.serving()
        tls.set_certificate(fresh.cert_pem, fresh.key_pem)
        second = await client.get(running.url)
        assert second.extensions["network_stream"].get_extra_info("client_addr") == port


async def test_no_request_fails_while_authority_and_certificate_rotate_under_load(ca, pki, tls, tmp_path):
    """Each request is a handshake of its own, so there is one at every moment of the rotation."""
    successor = pki("successor")
    context = client_context(ca.pem + successor.pem, tmp_path)
    done = asyncio.Event()
    codes: list[int] = []

    async def work(url: str) -> None:
        while not done.is_set():
            async with httpx.AsyncClient(verify=context) as client:
                codes.append((await client.get(url)).status_code)

    async with serving(whoami, tls) as running, asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(work(running.url))
        for step in range(20):
            goal = len(codes) + 5
            pair = (successor if step >= 10 else ca).serving()
            tls.set_certificate(pair.cert_pem, pair.key_pem)
            tls.set_authorities([ca.pem, successor.pem] if step % 2 else [])
            async with asyncio.timeout(20):
                while len(codes) < goal:
                    await asyncio.sleep(0)
        done.set()
    assert len(codes) >= 100
    assert set(codes) == {200}


async def test_material_that_does_not_fit_changes_nothing(ca, tls, tmp_path):
    async with serving(whoami, tls) as running:
        before = await shown_certificate(running, ca.pem, tmp_path)
        with pytest.raises(TLSError):
            tls.set_certificate(ca.serving().cert_pem, ca.serving().key_pem)
        with pytest.raises(TLSError):
            tls.set_authorities([b"nonsense"])
        assert await shown_certificate(running, ca.pem, tmp_path) == before


async def test_a_client_certificate_reaches_the_scope(ca, pki, tls, tmp_path):
    clients = pki("clients")
    tls.set_authorities([pki("other").pem, "# Autorität\n".encode() + clients.pem])
    pair = clients.client("admin")
    async with (
        serving(whoami, tls) as running,
        httpx.AsyncClient(verify=client_context(ca.pem, tmp_path, pair)) as client,
    ):
        for _ in range(2):  # the second request comes over the same connection
            assert (await client.get(running.url)).text == f"{der(pair).hex()} 0"


async def test_intermediates_that_come_along_reach_the_scope(ca, pki, tls, tmp_path):
    root = pki("root")
    middle = root.intermediate("middle")
    leaf = middle.client("deep")
    tls.set_authorities([root.pem])
    shown = KeyPair(leaf.cert_pem + middle.pem, leaf.key_pem)
    async with (
        serving(whoami, tls) as running,
        httpx.AsyncClient(verify=client_context(ca.pem, tmp_path, shown)) as client,
    ):
        assert (await client.get(running.url)).text == f"{der(leaf).hex()} 1"


async def test_no_session_can_be_resumed(ca, tls, tmp_path):
    context = client_context(ca.pem, tmp_path)
    async with serving(whoami, tls) as running:
        _, writer = await asyncio.open_connection("localhost", running.port, ssl=context)
        session = writer.get_extra_info("ssl_object").session
        assert session is None or not session.has_ticket
        writer.close()
        await writer.wait_closed()


async def test_a_client_without_a_certificate_is_served(ca, pki, tls, tmp_path):
    tls.set_authorities([pki("clients").pem])
    async with (
        serving(whoami, tls) as running,
        httpx.AsyncClient(verify=client_context(ca.pem, tmp_path)) as client,
    ):
        assert (await client.get(running.url)).text == "none 0"


async def test_an_authority_added_live_is_accepted_and_one_taken_away_is_not(ca, pki, tls, tmp_path):
    clients = pki("clients")
    context = client_context(ca.pem, tmp_path, clients.client("admin"))

    async def ask(url: str) -> str:
        async with httpx.AsyncClient(verify=context) as client:
            return (await client.get(url)).text

    async with serving(whoami, tls) as running:
        assert await ask(running.url) == "none 0"  # nobody asked for one yet
        tls.set_authorities([clients.pem])
        assert not (await ask(running.url)).startswith("none")
        tls.set_authorities([pki("other").pem])
        with pytest.raises((httpx.TransportError, ssl.SSLError)):
            await ask(running.url)


async def test_a_connection_that_was_never_asked_for_a_certificate_does_not_last(ca, pki, tls, tmp_path):
    clients = pki("clients")
    context = client_context(ca.pem, tmp_path, clients.client("front-proxy-client"))
    async with serving(whoami, tls) as running, httpx.AsyncClient(verify=context) as client:
        assert "connection" not in (await client.get(running.url)).headers
        tls.set_authorities([clients.pem])
        answer = await client.get(running.url)
        assert (answer.text, answer.headers["connection"]) == ("none 0", "close")
        answer = await client.get(running.url)
        assert not answer.text.startswith("none")
        assert "connection" not in answer.headers


async def test_only_http_1_1_is_offered(ca, tls, tmp_path):
    context = client_context(ca.pem, tmp_path)
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with serving(whoami, tls) as running:
        _, writer = await asyncio.open_connection("localhost", running.port, ssl=context)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
        writer.close()
        await writer.wait_closed()


async def test_tls_1_2_with_a_weak_cipher_is_refused(ca, tls, tmp_path):
    context = client_context(ca.pem, tmp_path)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AES128-SHA256:ECDHE-ECDSA-AES128-SHA256")
    async with serving(whoami, tls) as running:
        with pytest.raises(OSError):
            await asyncio.open_connection("localhost", running.port, ssl=context)
