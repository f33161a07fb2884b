"""Bearer tokens, judged by the host cluster through TokenReview.

Answers are kept for ten seconds, under a keyed hash, so that no token stays in memory. A failing review is
a 401 and is not kept, as in `k8s.io/apiserver/pkg/authentication/token/cache` and `…/request/bearertoken`.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Any

from apiserver.auth.lookup import Answer, Lookup
from apiserver.auth.request import Credentials, Headers, first_value
from apiserver.auth.reviews import Reviewer, ReviewError
from apiserver.auth.user import UserInfo
from apiserver.machinery.errors import unauthorized

PATH = "/apis/authentication.k8s.io/v1/tokenreviews"


def bearer_token(headers: Headers) -> str:
    """The token of the Authorization header; empty when there is none, or the scheme is another one."""
    parts = first_value(headers, "authorization").strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


class TokenAuthenticator:
    """Asks the host cluster whose token it is."""

    def __init__(
        self,
        reviewer: Reviewer,
        *,
        success_ttl: float = 10.0,
        failure_ttl: float = 10.0,
        capacity: int = 8192,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Times in seconds; `now` is a monotonic clock."""
        self._reviewer = reviewer
        self._success_ttl = success_ttl
        self._failure_ttl = failure_ttl
        self._hash_key = secrets.token_bytes(32)
        self._lookup: Lookup[bytes, UserInfo | None] = Lookup(capacity=capacity, now=now)

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        """See `Authenticator`. A token that is nobody's is a 401."""
        token = bearer_token(credentials.headers)
        if not token:
            return None
        audiences = credentials.audiences

        async def ask() -> Answer[UserInfo | None]:
            user = await self._review(token, audiences)
            return Answer(user, self._success_ttl if user else self._failure_ttl)

        try:
            user = await self._lookup.get(self._key(token, audiences), ask)
        except ReviewError as error:
            raise unauthorized() from error
        if user is None:
            raise unauthorized()
        return user

    async def _review(self, token: str, audiences: tuple[str, ...]) -> UserInfo | None:
        spec: dict[str, Any] = {"token": token}
        if audiences:
            spec["audiences"] = list(audiences)
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        status = await self._reviewer.review(body)
        if status.get("error") and not status.get("authenticated"):
            raise ReviewError(str(status["error"]))
        # A reviewer that does not say for whom the token is meant has not looked at the audiences.
        if not status.get("authenticated") or (audiences and not _meet(audiences, status.get("audiences"))):
            return None
        return _user(status.get("user") or {})

    def _key(self, token: str, audiences: tuple[str, ...]) -> bytes:
        digest = hashlib.blake2b(key=self._hash_key, digest_size=32)
        for part in (token, *audiences):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return digest.digest()


def _meet(wanted: tuple[str, ...], got: Any) -> bool:
    return bool(set(wanted) & set(got or ()))


def _user(user: dict[str, Any]) -> UserInfo:
    return UserInfo(
        name=user.get("username") or "",
        uid=user.get("uid") or "",
        groups=tuple(user.get("groups") or ()),
        extra={key: tuple(values or ()) for key, values in (user.get("extra") or {}).items()},
    )
