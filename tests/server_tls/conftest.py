"""A real uvicorn server on a free port, with TLS, in the test's event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
import uvicorn
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver.server.protocol import KEEP_ALIVE_SECONDS, APIProtocol
from apiserver.server.tls import ServerTLS
from certs import KeyPair, Names
from certs.authority import encode_key, new_key
from certs.serving import issue_serving

NAMES = Names("inference-apiserver", "ai")
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Authority:
    """An authority of the test: signs serving and client certificates."""

    pair: KeyPair

    @property
    def pem(self) -> bytes:
        return self.pair.cert_pem

    def intermediate(self, name: str) -> Authority:
        return authority(name, issuer=self)

    def serving(self) -> KeyPair:
        return issue_serving(self.pair, NAMES, datetime.now(UTC), DAY)

    def client(self, name: str, *, lifetime: timedelta = DAY) -> KeyPair:
        key, issuer = new_key(), self.pair.certificate()
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - DAY)
            .not_valid_after(datetime.now(UTC) + lifetime)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(self.pair.private_key(), hashes.SHA256())
        )
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), encode_key(key))


def authority(name: str, *, issuer: Authority | None = None) -> Authority:
    key, subject = new_key(), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.pair.certificate().subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - DAY)
        .not_valid_after(datetime.now(UTC) + DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(issuer.pair.private_key() if issuer else key, hashes.SHA256())
    )
    return Authority(KeyPair(certificate.public_bytes(serialization.Encoding.PEM), encode_key(key)))


def der(pair: KeyPair) -> bytes:
    return pair.certificate().public_bytes(serialization.Encoding.DER)


@dataclass(frozen=True)
class Running:
    """A server under test."""

    port: int
    tls: ServerTLS
    server: uvicorn.Server

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"


@asynccontextmanager
async def serving(app, tls: ServerTLS, *, protocol=APIProtocol) -> AsyncIterator[Running]:
    """Serve `app` until the block ends."""
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=2,
        ssl_context_factory=lambda _config, _default: tls.context,
    )
    config.load()
    server = uvicorn.Server(config)
    started = asyncio.Event()
    startup = server.startup

    async def announce(*args, **kwargs) -> None:
        await startup(*args, **kwargs)
        started.set()

    server.startup = announce
    async with asyncio.TaskGroup() as group:
        group.create_task(server._serve(None))
        async with asyncio.timeout(10):
            await started.wait()
        try:
            yield Running(server.servers[0].sockets[0].getsockname()[1], tls, server)
        finally:
            server.should_exit = True


def client_context(trusted: bytes, tmp_path, pair: KeyPair | None = None) -> ssl.SSLContext:
    """The TLS of a client that trusts `trusted` and shows `pair`."""
    context = ssl.create_default_context(cadata=trusted.decode())
    if pair is not None:
        path = tmp_path / f"{hash(pair)}.pem"
        path.write_bytes(pair.cert_pem + pair.key_pem)
        context.load_cert_chain(path)
    return context


def pytest_asyncio_loop_factories(config, item):
    """Both loops for the tests of this folder, because each has a TLS implementation of its own."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
def pki():
    """The function `authority`."""
    return authority
