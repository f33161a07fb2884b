"""The keys and certificates of a test control plane: three authorities, and what each of them signs."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=2)


@dataclass(frozen=True)
class Pair:
    """The files of a certificate and its key, both PEM."""

    cert: Path
    key: Path


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _write(folder: Path, name: str, cert: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    pair.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    pair.key.write_bytes(_pem(key))
    return pair


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


class Authority:
    """A certificate authority that lives in a folder; its own certificate is `self.files.cert`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _name(name)
        cert = (
            _builder(self._subject, self._subject, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.files = _write(folder, name, cert, self._key)

    def client(self, name: str, organizations: Sequence[str] = ()) -> Pair:
        """A client certificate: the user is the common name, the groups are the organizations."""
        return self._issue(name, _name(name, organizations), ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def server(self, name: str, hosts: Sequence[str]) -> Pair:
        """A serving certificate for host names and addresses."""
        return self._issue(name, _name(name), ExtendedKeyUsageOID.SERVER_AUTH, hosts)

    def _issue(
        self, name: str, subject: x509.Name, usage: x509.ObjectIdentifier, hosts: Sequence[str]
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            _builder(subject, self._subject, key)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(issuer_key, critical=False)
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(h) for h in hosts]), critical=False
            )
        return _write(self.folder, name.replace(":", "-"), builder.sign(self._key, hashes.SHA256()), key)


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def service_account_key(folder: Path) -> Pair:
    """The RSA key that signs service account tokens; `cert` holds its public half."""
    key = rsa.generate_private_key(65537, 2048)
    pair = Pair(folder / "service-account.pub", folder / "service-account.key")
    pair.key.write_bytes(_pem(key))
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    pair.cert.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))
    return pair
