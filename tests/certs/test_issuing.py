"""What the certificates look like, judged by OpenSSL and by Go's rules."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs import CertificateError, KeyPair, Names, make_authority
from certs.bundle import join, split, with_authority
from certs.serving import covers, issue_serving

YEAR = timedelta(days=365)


@pytest.fixture
def authority(clock):
    return make_authority("test-ca", clock.now(), 10 * YEAR)


@pytest.fixture
def serving(authority, names, clock):
    return issue_serving(authority, names, clock.now(), YEAR)


def test_the_certificate_carries_every_name_of_the_service(serving, names):
    extension = serving.certificate().extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert extension.get_values_for_type(x509.DNSName) == [
        "inference-apiserver.ai.svc",
        "inference-apiserver.ai.svc.cluster.local",
        "inference-apiserver",
        "inference-apiserver.ai",
        "localhost",
        "gpu.example.com",
    ]
    addresses = map(str, extension.get_values_for_type(x509.IPAddress))
    assert list(addresses) == ["127.0.0.1", "::1", "10.0.0.7"]


def test_both_use_p256_and_usages_that_fit(authority, serving):
    for pair in (authority, serving):
        assert isinstance(pair.private_key(), ec.EllipticCurvePrivateKey)
        assert pair.private_key().curve.name == "secp256r1"
        pair.check()
    usage = serving.certificate().extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert authority.certificate().extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl (apt-get install openssl)")
def test_openssl_verifies_the_chain_strictly(authority, serving, clock, tmp_path):
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem)
    (tmp_path / "tls.pem").write_bytes(serving.cert_pem)
    at = str(int(clock.now().timestamp()))
    command = ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-attime", at]
    command += ["-verify_hostname", "inference-apiserver.ai.svc", "-CAfile"]
    outcome = subprocess.run(
        [*command, tmp_path / "ca.pem", tmp_path / "tls.pem"], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr


def test_pythons_ssl_takes_them(authority, serving, tmp_path):
    ssl.create_default_context(cadata=authority.cert_pem.decode())
    (tmp_path / "pair.pem").write_bytes(serving.cert_pem + serving.key_pem)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "pair.pem")


def test_clocks_that_are_a_little_behind_accept_it_too(serving, clock):
    assert serving.certificate().not_valid_before_utc == clock.now() - timedelta(minutes=5)


def test_a_serving_certificate_never_outlives_its_authority(authority, names, clock):
    clock.advance(days=3600)
    late = issue_serving(authority, names, clock.now(), YEAR)
    assert late.certificate().not_valid_after_utc == authority.certificate().not_valid_after_utc


def test_long_service_names_fit_as_well(authority, clock):
    names = Names("s" * 63, "n" * 63)
    assert covers(issue_serving(authority, names, clock.now(), YEAR).certificate(), names)


def test_a_missing_name_is_noticed(serving):
    assert covers(serving.certificate(), Names("inference-apiserver", "ai"))
    assert not covers(serving.certificate(), Names("inference-apiserver", "other"))


def test_a_foreign_key_is_noticed(authority, serving):
    mixed = KeyPair(serving.cert_pem, authority.key_pem)
    assert not mixed.is_sound()
    with pytest.raises(CertificateError):
        mixed.check()


@pytest.mark.parametrize("pair", [KeyPair(b"", b""), KeyPair(b"x", b"y")])
def test_what_cannot_be_read_is_not_sound(pair):
    assert not pair.is_sound()


def test_the_newest_authority_leads_the_bundle_and_expired_ones_leave_it(clock):
    old = make_authority("a", clock.now(), timedelta(days=10))
    new = make_authority("b", clock.now(), timedelta(days=90))
    both = with_authority(old.cert_pem, new.certificate(), clock.now())
    assert both == new.cert_pem + old.cert_pem
    assert with_authority(both, new.certificate(), clock.now()) == both
    clock.advance(days=10)
    assert with_authority(both, new.certificate(), clock.now()) == new.cert_pem


def test_a_bundle_is_split_and_joined_without_loss(clock):
    bundle = b"".join(make_authority(name, clock.now(), YEAR).cert_pem for name in "ab")
    assert join(split(bundle)) == bundle
    assert split(b"\n") == []
    with pytest.raises(CertificateError):
        split(b"nonsense")
