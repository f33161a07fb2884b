"""The order of authenticators, with the real ones in it."""

from __future__ import annotations

import pytest

from apiserver.auth.anonymous import AnonymousAuthenticator
from apiserver.auth.clientcert import ClientCertificateAuthenticator
from apiserver.auth.configmap import RequestHeaderConfig
from apiserver.auth.request import Credentials
from apiserver.auth.requestheader import STANDARD, RequestHeaderAuthenticator
from apiserver.auth.static_token import StaticTokenAuthenticator
from apiserver.auth.union import UnionAuthenticator, with_authenticated
from apiserver.auth.user import UserInfo
from apiserver.auth.x509 import CertificateVerifier
from apiserver.machinery.errors import APIError

FORGED = ((b"x-remote-user", b"root"), (b"x-remote-group", b"system:masters"))
TOKEN = (b"authorization", b"Bearer secret")


@pytest.fixture
def authenticator(client_ca, proxy_ca, clock):
    config: RequestHeaderConfig = STANDARD
    proxy = RequestHeaderAuthenticator(
        lambda: config, CertificateVerifier(lambda: proxy_ca.pem, now=clock.now)
    )
    client = ClientCertificateAuthenticator(CertificateVerifier(lambda: client_ca.pem, now=clock.now))
    token = StaticTokenAuthenticator("secret", UserInfo("token-user"))
    return UnionAuthenticator((proxy, client, token), anonymous=AnonymousAuthenticator())


async def test_the_proxys_word_comes_first(authenticator, proxy_ca):
    user = await authenticator.authenticate(Credentials((*FORGED, TOKEN), proxy_ca.client("front-proxy")))
    assert (user.name, user.groups) == ("root", ("system:masters", "system:authenticated"))


async def test_forged_headers_beside_a_client_certificate_are_ignored(authenticator, client_ca):
    user = await authenticator.authenticate(Credentials(FORGED, client_ca.client("jane", ("devs",))))
    assert (user.name, user.groups) == ("jane", ("devs", "system:authenticated"))


async def test_forged_headers_beside_a_token_are_ignored(authenticator):
    user = await authenticator.authenticate(Credentials((*FORGED, TOKEN)))
    assert user.name == "token-user"


async def test_forged_headers_alone_are_anonymous(authenticator):
    user = await authenticator.authenticate(Credentials(FORGED))
    assert (user.name, user.groups) == ("system:anonymous", ("system:unauthenticated",))


async def test_a_bad_certificate_does_not_hide_a_good_token(authenticator, make_authority):
    stranger = make_authority("stranger").client("x")
    assert (await authenticator.authenticate(Credentials((TOKEN,), stranger))).name == "token-user"


async def test_bad_credentials_are_not_taken_for_none(authenticator, make_authority):
    with pytest.raises(APIError) as failure:
        await authenticator.authenticate(Credentials((), make_authority("stranger").client("x")))
    assert failure.value.code == 401


async def test_without_anonymous_access_no_credentials_are_a_401():
    with pytest.raises(APIError) as failure:
        await UnionAuthenticator(()).authenticate(Credentials(()))
    assert (failure.value.code, failure.value.message) == (401, "Unauthorized")


@pytest.mark.parametrize(
    "user",
    [
        UserInfo("system:anonymous"),
        UserInfo("a", groups=("system:unauthenticated",)),
        UserInfo("a", groups=("system:authenticated",)),
    ],
)
def test_the_authenticated_group_is_added_only_where_it_says_something(user):
    assert with_authenticated(user) == user
