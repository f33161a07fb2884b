"""The trust bundle: the PEM file of all authorities that a client of ours should trust at the moment.

It is more than one certificate while authorities are being rotated.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from certs.errors import CertificateError


def split(pem: bytes) -> list[x509.Certificate]:
    """The certificates of a bundle, in order; an empty bundle has none. Raises CertificateError."""
    if not pem.strip():
        return []
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise CertificateError(f"the bundle cannot be read: {error}") from error


def join(certificates: Iterable[x509.Certificate]) -> bytes:
    """PEM of the certificates, each once, in order."""
    unique = dict.fromkeys(item.public_bytes(serialization.Encoding.PEM) for item in certificates)
    return b"".join(unique)


def with_authority(bundle: bytes, authority: x509.Certificate, now: datetime) -> bytes:
    """The bundle with `authority` first and without those that have expired.

    What cannot be read is dropped: nobody could have trusted it.
    """
    try:
        others = split(bundle)
    except CertificateError:
        others = []
    return join([authority, *(item for item in others if now < item.not_valid_after_utc)])
