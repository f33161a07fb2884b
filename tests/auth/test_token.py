"""Bearer tokens by TokenReview."""

from __future__ import annotations

import pytest

from apiserver.auth.request import Credentials
from apiserver.auth.reviews import Reviewer
from apiserver.auth.static_token import LOCAL_ADMIN, StaticTokenAuthenticator, ensure_token
from apiserver.auth.token import PATH, TokenAuthenticator, bearer_token
from apiserver.machinery.errors import APIError, forbidden_path, too_many_requests

USER = {"username": "jane", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["a", "b"]}}


class Cluster:
    """A host cluster that knows tokens."""

    def __init__(self) -> None:
        self.bodies: list[dict] = []
        self.status: dict = {"authenticated": True, "user": USER}
        self.failures: list[Exception] = []

    async def create(self, path: str, body: dict) -> dict:
        assert path == PATH
        self.bodies.append(body)
        if self.failures:
            raise self.failures.pop(0)
        return {**body, "status": self.status}


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def authenticator(cluster, clock):
    async def pause(seconds: float) -> None:
        clock.advance(seconds)

    return TokenAuthenticator(Reviewer(cluster, PATH, sleep=pause), now=clock.seconds)


def with_token(token: str = "abc", audiences: tuple[str, ...] = ()) -> Credentials:
    return Credentials(((b"authorization", f"Bearer {token}".encode()),), audiences=audiences)


async def test_the_review_tells_the_user(authenticator, cluster):
    user = await authenticator.authenticate(with_token())
    assert (user.name, user.uid, user.groups) == ("jane", "7", ("devs",))
    assert user.extra == {"scopes": ("a", "b")}
    assert cluster.bodies[0]["spec"] == {"token": "abc"}


async def test_a_token_is_asked_for_once_in_ten_seconds(authenticator, cluster, clock):
    await authenticator.authenticate(with_token())
    clock.advance(9)
    await authenticator.authenticate(with_token())
    assert len(cluster.bodies) == 1
    clock.advance(1)
    await authenticator.authenticate(with_token())
    assert len(cluster.bodies) == 2


async def test_a_token_of_nobody_is_a_401_that_is_kept(authenticator, cluster):
    cluster.status = {"authenticated": False}
    for _ in range(3):
        with pytest.raises(APIError) as failure:
            await authenticator.authenticate(with_token())
        assert failure.value.code == 401
    assert len(cluster.bodies) == 1


async def test_a_failing_review_is_a_401_that_is_not_kept(authenticator, cluster):
    cluster.failures = [forbidden_path("not you")]
    with pytest.raises(APIError) as failure:
        await authenticator.authenticate(with_token())
    assert failure.value.code == 401
    assert (await authenticator.authenticate(with_token())).name == "jane"


async def test_an_error_in_the_status_is_not_kept(authenticator, cluster):
    cluster.status = {"error": "backend down"}
    for asked in (1, 2):
        with pytest.raises(APIError):
            await authenticator.authenticate(with_token())
        assert len(cluster.bodies) == asked


async def test_a_passing_failure_is_tried_again_with_growing_pauses(authenticator, cluster, clock):
    cluster.failures = [ConnectionResetError(), too_many_requests("slow down", 1)]
    assert (await authenticator.authenticate(with_token())).name == "jane"
    assert 1.25 <= clock.seconds() <= 1.5


async def test_five_tries_are_the_most(authenticator, cluster):
    cluster.failures = [ConnectionResetError() for _ in range(9)]
    with pytest.raises(APIError):
        await authenticator.authenticate(with_token())
    assert len(cluster.bodies) == 5


async def test_a_cluster_that_does_not_answer_is_given_up(clock):
    class Silent:
        async def create(self, path, body):
            import asyncio

            await asyncio.Event().wait()

    authenticator = TokenAuthenticator(Reviewer(Silent(), PATH, timeout=0.01), now=clock.seconds)
    with pytest.raises(APIError) as failure:
        await authenticator.authenticate(with_token())
    assert failure.value.code == 401


async def test_audiences_must_meet(authenticator, cluster):
    cluster.status = {"authenticated": True, "user": USER, "audiences": ["api", "x"]}
    assert (await authenticator.authenticate(with_token(audiences=("api",)))).name == "jane"
    assert cluster.bodies[-1]["spec"]["audiences"] == ["api"]
    with pytest.raises(APIError):
        await authenticator.authenticate(with_token(audiences=("other",)))


async def test_a_reviewer_blind_to_audiences_is_not_believed(authenticator):
    with pytest.raises(APIError):
        await authenticator.authenticate(with_token(audiences=("api",)))


async def test_the_token_itself_is_not_kept(authenticator):
    await authenticator.authenticate(with_token("very-secret"))
    assert "very-secret" not in repr(authenticator._lookup.__dict__)


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (b"Bearer abc", "abc"),
        (b"bearer abc", "abc"),
        (b"  BEARER abc ", "abc"),
        (b"Bearer abc def", "abc"),
        (b"Bearer  abc", ""),
        (b"Bearer", ""),
        (b"Basic abc", ""),
        (b"", ""),
    ],
)
def test_the_header_is_read_as_kube_apiserver_does(header, token):
    assert bearer_token(((b"authorization", header),)) == token


async def test_the_local_administrator_has_a_token_of_their_own(tmp_path):
    path = tmp_path / "dev" / "token"
    token = ensure_token(path)
    assert ensure_token(path) == token
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(item.name for item in path.parent.iterdir()) == ["token"]
    authenticator = StaticTokenAuthenticator(token)
    assert await authenticator.authenticate(with_token(token)) == LOCAL_ADMIN
    assert await authenticator.authenticate(with_token(token + "x")) is None
    assert await authenticator.authenticate(Credentials(())) is None


def test_an_empty_token_is_no_secret(tmp_path):
    with pytest.raises(ValueError, match="empty"):
        StaticTokenAuthenticator("")
    (tmp_path / "token").write_text("")
    with pytest.raises(OSError, match="at least"):
        ensure_token(tmp_path / "token")
