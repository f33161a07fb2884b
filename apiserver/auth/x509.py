"""Verification of client certificates: the only module here that knows cryptography.

The TLS layer has checked a certificate against the union of all authorities that were ever loaded;
which of them makes it good for what is decided here, request by request, against the bundle of the moment.
Results are cached, because one connection of kube-apiserver carries thousands of requests
with the same certificate.

As in Go, neither SAN nor any extension is needed on the leaf (kubeadm's front-proxy certificate has none),
every certificate of the bundle is an anchor, and an extended key usage, where there is one, must allow
client authentication. Stricter than Go: RSA below 2048 bits and Ed25519 are refused by the library.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import Criticality, ExtensionPolicy, Policy, PolicyBuilder, Store
from cryptography.x509.verification import VerificationError as _VerificationError

UID_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
"""Subject attribute that holds a user's UID: `k8s.io/apimachinery/pkg/apis/asn1` X509UID."""

MAX_INTERMEDIATES = 8
_CLIENT_USAGES = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)


class InvalidCertificateError(Exception):
    """The certificate is not signed by the bundle, not valid now, or not meant for clients."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a verified certificate says. `fingerprint` is the SHA-256 of the DER in hex."""

    common_name: str
    organizations: tuple[str, ...]
    uids: tuple[str, ...]
    fingerprint: str
    not_before: datetime
    not_after: datetime


class CertificateVerifier:
    """Verifies against a bundle that may change between any two calls."""

    def __init__(
        self, bundle: Callable[[], bytes], *, now: Callable[[], datetime], capacity: int = 1024
    ) -> None:
        """`bundle` gives the PEM of the moment (empty: nothing verifies).
        At most `capacity` results are kept.
        """
        self._bundle = bundle
        self._now = now
        self._capacity = capacity
        self._loaded = b""
        self._store: Store | None = None
        self._known: OrderedDict[tuple[bytes, ...], Certificate] = OrderedDict()

    def configured(self) -> bool:
        """Whether there is any authority at all."""
        return bool(self._bundle().strip())

    def verify(self, der: bytes, intermediates: Sequence[bytes] = ()) -> Certificate:
        """What the certificate says. Raises InvalidCertificateError."""
        store = self._current_store()
        now = self._now()
        key = (der, *intermediates)
        known = self._known.get(key)
        if known is not None and known.not_before <= now <= known.not_after:
            self._known.move_to_end(key)
            return known
        found = _verify(store, der, intermediates[:MAX_INTERMEDIATES], now)
        self._known[key] = found
        self._known.move_to_end(key)
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return found

    def _current_store(self) -> Store:
        bundle = self._bundle()
        if bundle != self._loaded:
            self._known.clear()
            self._store = _load(bundle)
            self._loaded = bundle
        if self._store is None:
            raise InvalidCertificateError("no certificate authority is configured")
        return self._store


def check_bundle(pem: bytes) -> None:
    """Raises InvalidCertificateError unless `pem` holds at least one certificate, and nothing unreadable."""
    if _load(pem) is None:
        raise InvalidCertificateError("the bundle holds no certificate")


def _load(pem: bytes) -> Store | None:
    if not pem.strip():
        return None
    try:
        return Store(x509.load_pem_x509_certificates(pem))
    except ValueError as error:
        raise InvalidCertificateError(f"the bundle cannot be read: {error}") from error


def _verify(store: Store, der: bytes, intermediates: Sequence[bytes], now: datetime) -> Certificate:
    try:
        leaf = x509.load_der_x509_certificate(der)
        others = [x509.load_der_x509_certificate(item) for item in intermediates]
        verifier = (
            PolicyBuilder()
            .store(store)
            .time(now)
            .extension_policies(ca_policy=_AUTHORITY_POLICY, ee_policy=_CLIENT_POLICY)
            .build_client_verifier()
        )
        chain = verifier.verify(leaf, others).chain
    except (_VerificationError, ValueError) as error:
        raise InvalidCertificateError(f"x509: {error}") from error
    return Certificate(
        common_name=next(iter(_names(leaf, NameOID.COMMON_NAME)), ""),
        organizations=_names(leaf, NameOID.ORGANIZATION_NAME),
        uids=_names(leaf, UID_OID),
        fingerprint=hashlib.sha256(der).hexdigest(),
        not_before=max(item.not_valid_before_utc for item in chain),
        not_after=min(item.not_valid_after_utc for item in chain),
    )


def _names(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> tuple[str, ...]:
    values = (attribute.value for attribute in certificate.subject.get_attributes_for_oid(oid))
    return tuple(value if isinstance(value, str) else value.decode("utf-8", "replace") for value in values)


def _check_usage(_: Policy, __: x509.Certificate, usage: x509.ExtendedKeyUsage | None) -> None:
    if usage is not None and not any(item in usage for item in _CLIENT_USAGES):
        raise ValueError("certificate specifies an incompatible key usage")


def _check_signs(_: Policy, __: x509.Certificate, usage: x509.KeyUsage | None) -> None:
    if usage is not None and not usage.key_cert_sign:
        raise ValueError("the issuer may not sign certificates")


def _check_authority(_: Policy, __: x509.Certificate, constraints: x509.BasicConstraints) -> None:
    if not constraints.ca:
        raise ValueError("the issuer is not a certificate authority")


_CLIENT_POLICY = ExtensionPolicy.permit_all().may_be_present(
    x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _check_usage
)
_AUTHORITY_POLICY = (
    ExtensionPolicy.permit_all()
    .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, _check_authority)
    .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _check_signs)
    .may_be_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _check_usage)
)
