"""One token of our own making: the local administrator of `dev`, who has no cluster to ask.

Never used beside a real cluster's authenticators.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from pathlib import Path

from apiserver.auth.request import Credentials
from apiserver.auth.token import bearer_token
from apiserver.auth.user import PRIVILEGED_GROUP, UserInfo

LOCAL_ADMIN = UserInfo(name="inference-apiserver:local-admin", groups=(PRIVILEGED_GROUP,))
_BYTES = 32


def ensure_token(path: Path) -> str:
    """The token kept at `path` (mode 0600); made on first use. Two processes at once agree on one.
    Raises OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(_BYTES))
        # A link, unlike a rename, fails when the file is there already:
        # whoever comes first has made the token.
        if not path.exists():
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(fresh)
    finally:
        fresh.unlink()
    token = path.read_text().strip()
    if len(token) < _BYTES:
        raise OSError(f"{path} does not hold a token of at least {_BYTES} characters")
    return token


class StaticTokenAuthenticator:
    """Knows one token; has no opinion on others."""

    def __init__(self, token: str, user: UserInfo = LOCAL_ADMIN) -> None:
        """Raises ValueError for an empty token, which everybody could guess."""
        if not token:
            raise ValueError("the token is empty")
        self._token = token.encode()
        self._user = user

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        """See `Authenticator`. The time of the comparison says nothing about the token."""
        given = bearer_token(credentials.headers).encode()
        return self._user if hmac.compare_digest(given, self._token) else None
