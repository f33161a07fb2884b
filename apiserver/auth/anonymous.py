"""Requests without any credentials."""

from __future__ import annotations

from apiserver.auth.request import Credentials
from apiserver.auth.user import ALL_UNAUTHENTICATED, ANONYMOUS, UserInfo

ANONYMOUS_USER = UserInfo(name=ANONYMOUS, groups=(ALL_UNAUTHENTICATED,))


class AnonymousAuthenticator:
    """Takes everybody; belongs last."""

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:  # noqa: ARG002 - needs none
        """See `Authenticator`."""
        return ANONYMOUS_USER
