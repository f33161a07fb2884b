"""The certificate authority: a self-signed P-256 certificate whose only work is to sign serving certificates.

Kept apart from the serving certificate because it is rotated on another schedule and by other rules.
Must not know where certificates are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import NameOID

from certs.errors import CertificateError

BACKDATE = timedelta(minutes=5)
"""Certificates are valid from a little before they are made: clocks of other machines may be behind."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate (PEM, leaf first) and its private key (PEM, PKCS #8)."""

    cert_pem: bytes
    key_pem: bytes = field(repr=False)

    def certificate(self) -> x509.Certificate:
        """The leaf. Raises CertificateError when it cannot be parsed."""
        return parse_certificate(self.cert_pem)

    def private_key(self) -> PrivateKeyTypes:
        """The key. Raises CertificateError when it cannot be parsed."""
        try:
            return serialization.load_pem_private_key(self.key_pem, password=None)
        except (ValueError, TypeError) as error:
            raise CertificateError(f"the private key cannot be read: {error}") from error

    def check(self) -> None:
        """Raises CertificateError unless the key belongs to the certificate."""
        if self.private_key().public_key() != self.certificate().public_key():
            raise CertificateError("the private key does not belong to the certificate")

    def is_sound(self) -> bool:
        """Whether both parts can be read and belong together."""
        try:
            self.check()
        except CertificateError:
            return False
        return True


def parse_certificate(pem: bytes) -> x509.Certificate:
    """The first certificate of `pem`. Raises CertificateError."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise CertificateError(f"the certificate cannot be read: {error}") from error


def new_key() -> ec.EllipticCurvePrivateKey:
    """A fresh P-256 key: small, fast to sign with, and accepted by every TLS 1.2 client."""
    return ec.generate_private_key(ec.SECP256R1())


def encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    """PEM, PKCS #8, not encrypted: the file's mode protects it."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """The key usage of an authority, or of a certificate that only shows itself in handshakes."""
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def make_authority(common_name: str, now: datetime, lifetime: timedelta) -> KeyPair:
    """A new authority. The time is part of the name, so that two generations are never
    mistaken for one another.
    """
    key = new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{common_name[:48]}@{int(now.timestamp())}")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), encode_key(key))


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether `authority` signed `certificate`."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def is_due(certificate: x509.Certificate, now: datetime, fraction: float) -> bool:
    """Whether `fraction` of the certificate's life is over (or it has not begun)."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now < begin or now >= begin + (end - begin) * fraction


def is_valid_at(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether `now` lies within the certificate's life."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
