"""The serving certificate: which names it must carry, and how it is issued.

kube-apiserver dials with ServerName `<service>.<namespace>.svc`; the other names are for people and probes.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.authority import BACKDATE, KeyPair, encode_key, key_usage, new_key
from certs.errors import CertificateError

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Names:
    """What the server is called: its Service, and any external names or addresses."""

    service: str
    namespace: str
    external: tuple[str, ...] = ()

    def subject_names(self) -> tuple[str, ...]:
        """Every DNS name and address of the certificate, without repetition, in a fixed order."""
        base = f"{self.service}.{self.namespace}"
        within = (f"{base}.svc", f"{base}.svc.cluster.local", self.service, base)
        return tuple(dict.fromkeys((*within, *LOCAL_NAMES, *(name for name in self.external if name))))


def general_name(name: str) -> x509.GeneralName:
    """An IPAddress for what reads as one, a DNSName otherwise."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return x509.DNSName(name)


def issue_serving(authority: KeyPair, names: Names, now: datetime, lifetime: timedelta) -> KeyPair:
    """A serving certificate signed by `authority`; it never outlives it. Raises CertificateError."""
    issuer, signing_key = authority.certificate(), authority.private_key()
    if not isinstance(signing_key, ec.EllipticCurvePrivateKey):
        raise CertificateError("the authority's key is not an elliptic curve key")
    key = new_key()
    alternatives = x509.SubjectAlternativeName([general_name(name) for name in names.subject_names()])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names.service[:64])]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(max(now - BACKDATE, issuer.not_valid_before_utc))
        .not_valid_after(min(now + lifetime, issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(alternatives, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False
        )
        .sign(signing_key, hashes.SHA256())
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), encode_key(key))


def covers(certificate: x509.Certificate, names: Names) -> bool:
    """Whether the certificate carries every name that it must."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return False
    carried = set(extension.value)
    return all(general_name(name) in carried for name in names.subject_names())
