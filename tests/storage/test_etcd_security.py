"""TLS and passwords."""

from __future__ import annotations

import datetime
import ipaddress
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from storage.errors import Denied, Unavailable
from storage.etcd.client import EtcdStore
from storage.etcd.options import EtcdOptions
from storage.interface import Put

pytestmark = pytest.mark.etcd


def make_certificates(folder: Path) -> None:
    """One self-signed certificate that is authority, server and client at once."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


@pytest.fixture
def etcd_tls(start_etcd, tmp_path: Path) -> Iterator[object]:  # type: ignore[no-untyped-def]
    make_certificates(tmp_path)
    certificate, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    yield from start_etcd(
        scheme="https",
        arguments=(
            f"--cert-file={certificate}",
            f"--key-file={key}",
            f"--trusted-ca-file={certificate}",
            "--client-cert-auth",
        ),
    )


async def test_it_speaks_tls_with_a_client_certificate(etcd_tls, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    certificate, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    store = await EtcdStore.open(
        EtcdOptions(endpoints=(etcd_tls.endpoint,), ca_file=certificate, cert_file=certificate, key_file=key)
    )
    outcome = await store.txn([], [Put(b"/a", b"1")])
    assert outcome.succeeded
    async with store.watch(b"/a", outcome.revision) as watch:
        async for batch in watch:
            assert batch.revision == outcome.revision
            break
    await store.close()


async def test_without_a_client_certificate_it_is_unavailable(etcd_tls, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    store = await EtcdStore.open(
        EtcdOptions(endpoints=(etcd_tls.endpoint,), ca_file=str(tmp_path / "cert.pem"), timeout=2)
    )
    with pytest.raises(Unavailable):
        await store.revision()
    await store.close()


async def test_a_missing_certificate_file_is_unavailable(etcd_tls, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    store = await EtcdStore.open(
        EtcdOptions(endpoints=(etcd_tls.endpoint,), ca_file=str(tmp_path / "none.pem"), timeout=2)
    )
    with pytest.raises(Unavailable, match="cannot be read"):
        await store.revision()
    await store.close()


@pytest.fixture(params=["newest", "packaged"])
def etcd_auth(start_etcd, packaged_etcd, request) -> Iterator[object]:  # type: ignore[no-untyped-def]
    chosen = {} if request.param == "newest" else {"binary": packaged_etcd}
    for server in start_etcd(**chosen):
        control = [str(Path(sys.executable).with_name("etcdctl")), "--endpoints", server.endpoint]
        for command in (
            "user add root:secret",
            "user grant-role root root",
            "role add ours",
            "role grant-permission --prefix=true ours readwrite /registry",
            "user add us:password",
            "user grant-role us ours",
            "auth enable",
        ):
            subprocess.run([*control, *command.split()], check=True, capture_output=True)
        yield server


def options(server: object, **more: object) -> EtcdOptions:
    return EtcdOptions(endpoints=(server.endpoint,), timeout=3, **more)  # type: ignore[attr-defined, arg-type]


async def test_it_authenticates_and_again_after_the_token_died(etcd_auth) -> None:  # type: ignore[no-untyped-def]
    store = await EtcdStore.open(options(etcd_auth, username="us", password="password"))
    first = await store.txn([], [Put(b"/registry/a", b"1")])
    assert first.succeeded
    etcd_auth.kill()  # simple tokens live in the memory of the server
    etcd_auth.start()
    while True:
        try:
            second = await store.txn([], [Put(b"/registry/a", b"2")])
        except Unavailable:
            continue
        break
    assert await store.revision() == second.revision
    async with store.watch(b"/registry/", first.revision) as watch:
        seen = []
        async for batch in watch:
            seen += [event.revision for event in batch.events]
            if batch.revision >= second.revision:
                break
    assert seen == [first.revision, second.revision]
    await store.close()


async def test_a_wrong_password_and_a_forbidden_key_are_denied(etcd_auth) -> None:  # type: ignore[no-untyped-def]
    wrong = await EtcdStore.open(options(etcd_auth, username="us", password="wrong"))
    with pytest.raises(Denied):
        await wrong.revision()
    await wrong.close()
    store = await EtcdStore.open(options(etcd_auth, username="us", password="password"))
    with pytest.raises(Denied):
        await store.txn([], [Put(b"/elsewhere", b"1")])
    with pytest.raises(Denied):
        async with store.watch(b"/elsewhere/", 0):
            pass
    await store.close()


async def test_a_password_is_not_needed_where_none_is_asked_for(etcd_newest, prefix: bytes) -> None:  # type: ignore[no-untyped-def]
    store = await EtcdStore.open(options(etcd_newest, username="us", password="password"))
    assert (await store.txn([], [Put(prefix, b"1")])).succeeded
    await store.close()


def test_options_do_not_show_the_password() -> None:
    assert "secret" not in repr(EtcdOptions(username="us", password="secret"))
