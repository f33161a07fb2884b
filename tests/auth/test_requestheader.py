"""The front proxy speaks for its users; nobody else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.auth.configmap import RequestHeaderConfig
from apiserver.auth.request import Credentials
from apiserver.auth.requestheader import RequestHeaderAuthenticator, decode_key, strip
from apiserver.auth.x509 import CertificateVerifier
from apiserver.machinery.errors import APIError

CONFIG = RequestHeaderConfig(
    allowed_names=("front-proxy-client",),
    username_headers=("X-Remote-User", "X-Other-User"),
    group_headers=("X-Remote-Group",),
    uid_headers=("X-Remote-Uid",),
    extra_prefixes=("X-Remote-Extra-",),
)
HEADERS = (
    (b"x-remote-user", b"jane"),
    (b"x-remote-group", b"devs"),
    (b"x-remote-group", b"ops"),
    (b"x-remote-uid", b"42"),
    (b"x-remote-extra-scopes", b"read"),
    (b"x-remote-extra-scopes", b"write"),
    (b"x-remote-extra-authentication.kubernetes.io%2fpod-name", b"web-0"),
)


@pytest.fixture
def authenticate(proxy_ca, clock):
    verifier = CertificateVerifier(lambda: proxy_ca.pem, now=clock.now)

    async def run(certificate: bytes | None, headers=HEADERS, config=CONFIG):
        return await RequestHeaderAuthenticator(lambda: config, verifier).authenticate(
            Credentials(headers, certificate)
        )

    return run


@pytest.fixture
def proxy(proxy_ca):
    return proxy_ca.client("front-proxy-client")


async def test_the_proxy_tells_name_groups_uid_and_extra(authenticate, proxy):
    user = await authenticate(proxy)
    assert (user.name, user.uid, user.groups) == ("jane", "42", ("devs", "ops"))
    assert user.extra == {
        "scopes": ("read", "write"),
        "authentication.kubernetes.io/pod-name": ("web-0",),
    }


async def test_headers_without_a_certificate_mean_nothing(authenticate):
    assert await authenticate(None) is None


async def test_headers_with_a_certificate_of_the_client_authority_are_forged(authenticate, client_ca):
    with pytest.raises(APIError) as failure:
        await authenticate(client_ca.client("front-proxy-client"))
    assert failure.value.code == 401


async def test_another_name_of_the_right_authority_may_not_speak_for_others(authenticate, proxy_ca):
    with pytest.raises(APIError) as failure:
        await authenticate(proxy_ca.client("somebody"))
    assert failure.value.code == 401


async def test_without_allowed_names_any_certificate_of_the_authority_will_do(authenticate, proxy_ca):
    config = RequestHeaderConfig(username_headers=("X-Remote-User",))
    assert (await authenticate(proxy_ca.client("somebody"), config=config)).name == "jane"


async def test_the_first_header_that_names_somebody_counts(authenticate, proxy):
    assert (await authenticate(proxy, ((b"x-other-user", b"joe"),))).name == "joe"
    both = ((b"x-other-user", b"joe"), (b"x-remote-user", b"jane"))
    assert (await authenticate(proxy, both)).name == "jane"


async def test_the_proxy_without_a_user_is_nobody(authenticate, proxy):
    assert await authenticate(proxy, ((b"x-remote-group", b"system:masters"),)) is None


async def test_names_beyond_ascii_arrive_whole(authenticate, proxy):
    assert (await authenticate(proxy, ((b"x-remote-user", "jürgen".encode()),))).name == "jürgen"


@pytest.mark.parametrize(
    ("encoded", "key"), [("A%2FB", "a/b"), ("100%", "100%"), ("%zz", "%zz"), ("%c3%bc", "ü"), ("a%2", "a%2")]
)
def test_keys_are_lowered_and_decoded_unless_broken(encoded, key):
    assert decode_key(encoded) == key


def test_whatever_could_speak_for_a_user_is_stripped():
    config = RequestHeaderConfig(username_headers=("X-Custom",), extra_prefixes=("X-More-",))
    kept = [(b"accept", b"*/*"), (b"x-remote", b"fine")]
    forged = [(b"authorization", b"Bearer x"), (b"x-custom", b"root"), (b"x-more-y", b"z"), *HEADERS]
    assert strip([*forged, *kept], config) == kept


def test_the_standard_names_are_stripped_without_any_configuration():
    assert strip([*HEADERS, (b"host", b"x")]) == [(b"host", b"x")]


@given(st.lists(st.tuples(st.binary(max_size=30), st.binary(max_size=10)), max_size=20))
def test_stripping_keeps_order_and_drops_nothing_else(headers):
    kept = strip(headers)
    assert strip(kept) == kept
    dropped = [item for item in headers if item not in kept]
    assert all(key.lower().startswith((b"x-remote-", b"authorization")) for key, _ in dropped)
