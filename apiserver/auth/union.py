"""The authenticators in their order.

Source: `k8s.io/apiserver/pkg/authentication/authenticatorfactory` (delegating): all are tried until one
knows the sender; bad credentials of one kind do not hide good ones of another; but whoever showed bad ones
and no good ones gets a 401, and is not taken for anonymous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apiserver.auth.request import Authenticator, Credentials
from apiserver.auth.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, UserInfo
from apiserver.machinery.errors import APIError, unauthorized


class UnionAuthenticator:
    """Front proxy, client certificate, token; then `anonymous`, if it is allowed at all."""

    def __init__(
        self, authenticators: Sequence[Authenticator], *, anonymous: Authenticator | None = None
    ) -> None:
        self._authenticators = tuple(authenticators)
        self._anonymous = anonymous

    async def authenticate(self, credentials: Credentials) -> UserInfo:
        """The sender. Raises an APIError (401) when there is none."""
        rejection: APIError | None = None
        for authenticator in self._authenticators:
            try:
                user = await authenticator.authenticate(credentials)
            except APIError as error:
                rejection = rejection or error
                continue
            if user is not None:
                return with_authenticated(user)
        if rejection is not None:
            raise rejection
        user = await self._anonymous.authenticate(credentials) if self._anonymous else None
        if user is None:
            raise unauthorized()
        return user


def with_authenticated(user: UserInfo) -> UserInfo:
    """The user in `system:authenticated`, unless anonymous or already told apart."""
    if user.name == ANONYMOUS or ALL_AUTHENTICATED in user.groups or ALL_UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, ALL_AUTHENTICATED))
