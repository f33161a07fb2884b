"""Certificates of every kind, made for the test."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
CLIENT = (ExtendedKeyUsageOID.CLIENT_AUTH,)


@dataclass
class Clock:
    """Time that moves when told to: `now()` for dates, `seconds()` for a monotonic clock."""

    at: datetime = NOW

    def now(self) -> datetime:
        return self.at

    def seconds(self) -> float:
        return (self.at - NOW).total_seconds()

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@dataclass
class Signer:
    """An authority, or an intermediate one."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def client(
        self,
        name: str = "",
        groups: tuple[str, ...] = (),
        *,
        uids: tuple[str, ...] = (),
        usages: tuple[x509.ObjectIdentifier, ...] = CLIENT,
        begin: datetime = NOW - timedelta(hours=1),
        end: datetime = NOW + timedelta(hours=24),
        san: bool = False,
        rsa_key: bool = False,
    ) -> bytes:
        """A client certificate in DER, like those of kubeadm unless told otherwise."""
        key = rsa.generate_private_key(65537, 2048) if rsa_key else ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        attributes += [x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else []
        attributes += [x509.NameAttribute(UID, uid) for uid in uids]
        builder = _builder(x509.Name(attributes), self.certificate.subject, key, begin, end)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        if usages:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if san:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("x")]), critical=False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)

    def intermediate(self, name: str) -> Signer:
        """An authority that this one vouches for."""
        return authority(name, issuer=self)


def _builder(subject, issuer, key, begin, end):
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )


def authority(
    name: str, *, issuer: Signer | None = None, is_ca: bool = True, rsa_key: bool = False
) -> Signer:
    """A self-signed authority, or one signed by `issuer`."""
    key = rsa.generate_private_key(65537, 2048) if rsa_key else ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin, end = NOW - timedelta(days=1), NOW + timedelta(days=3650)
    builder = _builder(subject, issuer.certificate.subject if issuer else subject, key, begin, end)
    builder = builder.add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    return Signer(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


@pytest.fixture
def clock() -> Clock:
    """A clock at NOW."""
    return Clock()


@pytest.fixture(scope="session")
def client_ca() -> Signer:
    """The cluster's client authority."""
    return authority("kubernetes")


@pytest.fixture(scope="session")
def proxy_ca() -> Signer:
    """The front proxy's authority."""
    return authority("front-proxy-ca")


@pytest.fixture(scope="session")
def make_authority():
    """The function `authority`."""
    return authority
