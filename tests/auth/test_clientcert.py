"""Client certificates: CN is the user, O are the groups."""

from __future__ import annotations

import hashlib

import pytest

from apiserver.auth.clientcert import CREDENTIAL_ID, ClientCertificateAuthenticator
from apiserver.auth.request import Credentials
from apiserver.auth.x509 import CertificateVerifier
from apiserver.machinery.errors import APIError


@pytest.fixture
def authenticate(client_ca, clock):
    authenticator = ClientCertificateAuthenticator(CertificateVerifier(lambda: client_ca.pem, now=clock.now))
    return lambda certificate: authenticator.authenticate(Credentials((), certificate))


async def test_the_subject_names_user_and_groups(authenticate, client_ca):
    der = client_ca.client("kubernetes-admin", ("kubeadm:cluster-admins", "ops"), uids=("u-1",))
    user = await authenticate(der)
    assert (user.name, user.uid) == ("kubernetes-admin", "u-1")
    assert user.groups == ("kubeadm:cluster-admins", "ops")
    assert user.extra == {CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)}


async def test_a_certificate_without_a_name_is_nobodys(authenticate, client_ca):
    assert await authenticate(client_ca.client("", ("system:masters",))) is None


async def test_two_uids_are_one_too_many(authenticate, client_ca):
    with pytest.raises(APIError) as failure:
        await authenticate(client_ca.client("a", uids=("1", "2")))
    assert failure.value.code == 401


async def test_the_front_proxys_authority_makes_no_users(authenticate, proxy_ca):
    with pytest.raises(APIError):
        await authenticate(proxy_ca.client("admin", ("system:masters",)))


async def test_without_an_authority_there_is_no_opinion(client_ca, clock):
    authenticator = ClientCertificateAuthenticator(CertificateVerifier(lambda: b"", now=clock.now))
    assert await authenticator.authenticate(Credentials((), client_ca.client("a"))) is None
