"""The rules of rotation as pure functions over what is stored; no files, no clock, no waiting.

Two steps, because trust must be handed out before it is relied on:

1. `prepare` makes the authority usable (new, or a successor when it is due) and puts it in the bundle. The
   serving certificate of the old authority stays, unless it cannot serve at all.
2. after the caller has published the bundle, `complete` issues the serving certificate from the current
   authority.

Nothing else is remembered: a serving certificate that the current authority did not sign *is* the state
"bundle not known to be published", so a process that died in the middle goes on where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from certs.authority import KeyPair, is_due, is_issued_by, is_valid_at, make_authority
from certs.bundle import split, with_authority
from certs.errors import CertificateError
from certs.serving import Names, covers, issue_serving


@dataclass(frozen=True, slots=True)
class Policy:
    """How long certificates live, and after which fraction of that they are replaced."""

    authority_name: str = "inference-apiserver-ca"
    authority_lifetime: timedelta = timedelta(days=3650)
    serving_lifetime: timedelta = timedelta(days=365)
    renew_at: float = 2 / 3


@dataclass(frozen=True, slots=True)
class Stored:
    """All that is kept, as PEM; empty bytes are what is not there yet."""

    bundle: bytes = b""
    ca_cert: bytes = b""
    ca_key: bytes = field(default=b"", repr=False)
    tls_cert: bytes = b""
    tls_key: bytes = field(default=b"", repr=False)

    @property
    def authority(self) -> KeyPair:
        """The authority that signs now."""
        return KeyPair(self.ca_cert, self.ca_key)

    @property
    def serving(self) -> KeyPair:
        """The certificate that is shown."""
        return KeyPair(self.tls_cert, self.tls_key)


def prepare(stored: Stored, names: Names, policy: Policy, now: datetime) -> Stored:
    """Step 1. Returns `stored` itself when nothing has to change."""
    authority = stored.authority
    if not authority.is_sound() or is_due(authority.certificate(), now, policy.renew_at):
        authority = make_authority(policy.authority_name, now, policy.authority_lifetime)
    bundle = with_authority(stored.bundle, authority.certificate(), now)
    # The predecessor stays trusted even if somebody lost it from the bundle:
    # certificates that it signed are in use.
    if stored.ca_cert and stored.ca_cert != authority.cert_pem:
        bundle = _keeping(bundle, stored.ca_cert, now)
    serving = stored.serving
    if not can_serve(serving, bundle, now) or (
        _is_signed_by(serving, authority) and _wants_renewal(serving, names, policy, now)
    ):
        serving = issue_serving(authority, names, now, policy.serving_lifetime)
    return _changed(stored, bundle, authority, serving)


def complete(stored: Stored, names: Names, policy: Policy, now: datetime) -> Stored:
    """Step 2, once `stored.bundle` has been published. Returns `stored` itself when nothing has to change."""
    serving = stored.serving
    if _is_signed_by(serving, stored.authority) and not _wants_renewal(serving, names, policy, now):
        return stored
    serving = issue_serving(stored.authority, names, now, policy.serving_lifetime)
    return _changed(stored, stored.bundle, stored.authority, serving)


def can_serve(serving: KeyPair, bundle: bytes, now: datetime) -> bool:
    """Whether a client that trusts the bundle could accept the certificate at `now`."""
    if not serving.is_sound():
        return False
    certificate = serving.certificate()
    return is_valid_at(certificate, now) and any(is_issued_by(certificate, item) for item in split(bundle))


def _keeping(bundle: bytes, ca_cert: bytes, now: datetime) -> bytes:
    try:
        previous = split(ca_cert)
    except CertificateError:
        return bundle
    current = split(bundle)[0]
    for item in previous:
        if now < item.not_valid_after_utc:
            bundle = with_authority(with_authority(bundle, item, now), current, now)
    return bundle


def _is_signed_by(serving: KeyPair, authority: KeyPair) -> bool:
    return serving.is_sound() and is_issued_by(serving.certificate(), authority.certificate())


def _wants_renewal(serving: KeyPair, names: Names, policy: Policy, now: datetime) -> bool:
    certificate = serving.certificate()
    return is_due(certificate, now, policy.renew_at) or not covers(certificate, names)


def _changed(stored: Stored, bundle: bytes, authority: KeyPair, serving: KeyPair) -> Stored:
    result = Stored(bundle, authority.cert_pem, authority.key_pem, serving.cert_pem, serving.key_pem)
    return stored if result == stored else result
