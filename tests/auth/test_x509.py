"""Verification of client certificates against the bundle of the moment."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from apiserver.auth.x509 import CertificateVerifier, InvalidCertificateError, check_bundle


@pytest.fixture
def bundle(client_ca):
    return {"pem": client_ca.pem}


@pytest.fixture
def verifier(bundle, clock):
    return CertificateVerifier(lambda: bundle["pem"], now=clock.now, capacity=2)


def test_a_kubeadm_style_certificate_without_san_verifies(verifier, client_ca):
    found = verifier.verify(client_ca.client("front-proxy-client"))
    assert found.common_name == "front-proxy-client"


def test_rsa_certificates_as_kubeadm_makes_them_verify(make_authority, clock):
    ca = make_authority("rsa", rsa_key=True)
    verifier = CertificateVerifier(lambda: ca.pem, now=clock.now)
    assert verifier.verify(ca.client("admin", rsa_key=True)).common_name == "admin"


def test_a_certificate_with_a_san_verifies_as_well(verifier, client_ca):
    assert verifier.verify(client_ca.client("node", san=True)).common_name == "node"


def test_every_organization_is_told(verifier, client_ca):
    assert verifier.verify(client_ca.client("a", ("x", "y"))).organizations == ("x", "y")


def test_another_authoritys_certificate_is_refused(verifier, proxy_ca):
    with pytest.raises(InvalidCertificateError):
        verifier.verify(proxy_ca.client("admin"))


def test_an_authority_of_the_same_name_is_no_substitute(verifier, make_authority):
    with pytest.raises(InvalidCertificateError):
        verifier.verify(make_authority("kubernetes").client("admin"))


def test_a_serving_certificate_is_not_for_clients(verifier, client_ca):
    with pytest.raises(InvalidCertificateError):
        verifier.verify(client_ca.client("server", usages=(ExtendedKeyUsageOID.SERVER_AUTH,)))


@pytest.mark.parametrize("usages", [(), (ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,)])
def test_a_certificate_for_any_use_is_for_clients_too(verifier, client_ca, usages):
    assert verifier.verify(client_ca.client("any", usages=usages)).common_name == "any"


def test_an_expired_certificate_is_refused(verifier, client_ca, clock):
    with pytest.raises(InvalidCertificateError):
        verifier.verify(client_ca.client("late", end=clock.at - timedelta(minutes=1)))


def test_a_certificate_of_tomorrow_is_refused(verifier, client_ca, clock):
    with pytest.raises(InvalidCertificateError):
        verifier.verify(client_ca.client("early", begin=clock.at + timedelta(minutes=1)))


def test_a_cached_result_ends_with_the_certificate(verifier, client_ca, clock):
    der = client_ca.client("short", end=clock.at + timedelta(seconds=60))
    verifier.verify(der)
    clock.advance(61)
    with pytest.raises(InvalidCertificateError):
        verifier.verify(der)


def test_a_cached_result_ends_with_the_bundle(verifier, bundle, client_ca, proxy_ca):
    der = client_ca.client("admin")
    verifier.verify(der)
    bundle["pem"] = proxy_ca.pem
    with pytest.raises(InvalidCertificateError):
        verifier.verify(der)


def test_the_cache_is_bounded(verifier, client_ca):
    for name in "abcd":
        verifier.verify(client_ca.client(name))
    assert len(verifier._known) == 2


def test_each_certificate_of_the_bundle_is_an_anchor(verifier, bundle, client_ca, proxy_ca):
    bundle["pem"] = client_ca.pem + proxy_ca.pem
    assert verifier.verify(proxy_ca.client("b")).common_name == "b"
    assert verifier.verify(client_ca.client("a")).common_name == "a"


def test_an_intermediate_that_comes_along_is_used(verifier, client_ca):
    middle = client_ca.intermediate("middle")
    der = middle.client("deep")
    assert verifier.verify(der, [middle.der]).common_name == "deep"
    with pytest.raises(InvalidCertificateError):
        verifier.verify(der)


def test_an_intermediate_in_the_bundle_is_an_anchor_of_its_own(verifier, bundle, client_ca):
    middle = client_ca.intermediate("middle")
    bundle["pem"] = middle.pem
    assert verifier.verify(middle.client("deep")).common_name == "deep"


def test_a_leaf_cannot_sign_for_others(verifier, client_ca, make_authority):
    leaf = make_authority("leaf", issuer=client_ca, is_ca=False)
    with pytest.raises(InvalidCertificateError):
        verifier.verify(leaf.client("admin"), [leaf.der])


def test_without_any_authority_nothing_verifies(verifier, bundle, client_ca):
    bundle["pem"] = b""
    assert not verifier.configured()
    with pytest.raises(InvalidCertificateError):
        verifier.verify(client_ca.client("admin"))


def test_what_is_no_certificate_is_refused(verifier):
    with pytest.raises(InvalidCertificateError):
        verifier.verify(b"\x30\x03abc")


@pytest.mark.parametrize(
    "pem", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_bundle_must_hold_certificates(pem):
    with pytest.raises(InvalidCertificateError):
        check_bundle(pem)
