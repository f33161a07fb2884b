"""The front proxy: kube-apiserver speaks for its users in headers, and proves that it
may with its certificate.

The certificate is verified against the requestheader authority alone. Header names come from the
configuration of the moment. Source of the behaviour:
`k8s.io/apiserver/pkg/authentication/request/headerrequest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from apiserver.auth.configmap import RequestHeaderConfig
from apiserver.auth.request import Credentials, Headers, text_of
from apiserver.auth.user import UserInfo
from apiserver.auth.x509 import CertificateVerifier, InvalidCertificateError
from apiserver.machinery.errors import unauthorized

STANDARD = RequestHeaderConfig(
    username_headers=("X-Remote-User",),
    uid_headers=("X-Remote-Uid",),
    group_headers=("X-Remote-Group",),
    extra_prefixes=("X-Remote-Extra-",),
)
"""Header names that are stripped in any case, whatever the configuration says."""


class RequestHeaderAuthenticator:
    """Believes the headers of a proxy whose certificate is good; has no opinion on anything else."""

    def __init__(self, config: Callable[[], RequestHeaderConfig], verifier: CertificateVerifier) -> None:
        """`config` gives the configuration of the moment;
        `verifier` knows the requestheader authority only.
        """
        self._config = config
        self._verifier = verifier

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        """See `Authenticator`. A certificate that is not the proxy's is a 401 unless another authenticator
        takes it.
        """
        if credentials.peer_certificate is None or not self._verifier.configured():
            return None
        config = self._config()
        try:
            certificate = self._verifier.verify(credentials.peer_certificate, credentials.peer_intermediates)
        except InvalidCertificateError as error:
            raise unauthorized() from error
        if config.allowed_names and certificate.common_name not in config.allowed_names:
            raise unauthorized()
        return user_from(credentials.headers, config)


def user_from(headers: Headers, config: RequestHeaderConfig) -> UserInfo | None:
    """The user whom trusted headers name; None when they name nobody."""
    names = _compiled(config)
    found: dict[bytes, list[str]] = {}
    extra: dict[str, list[str]] = {}
    for key, value in headers:
        if key in names.wanted:
            found.setdefault(key, []).append(text_of(value))
        elif key.startswith(names.prefixes):
            _add_extra(extra, key, value, names.prefixes)
    name = _first(found, names.users)
    if not name:
        return None
    groups = (value for header in names.groups for value in found.get(header, ()) if value)
    return UserInfo(name, _first(found, names.uids), tuple(groups), _settled(extra))


def extra_from(headers: Headers, prefix: str) -> dict[str, tuple[str, ...]]:
    """Extra values by key. Keys are what follows the prefix: lower-cased, then percent-decoded."""
    extra: dict[str, list[str]] = {}
    start = (_lower(prefix),)
    for key, value in headers:
        if key.startswith(start):
            _add_extra(extra, key, value, start)
    return _settled(extra)


def _add_extra(extra: dict[str, list[str]], key: bytes, value: bytes, prefixes: tuple[bytes, ...]) -> None:
    for prefix in prefixes:
        if key.startswith(prefix):
            name = decode_key(text_of(key[len(prefix) :]))
            extra.setdefault(name, []).append(text_of(value))


def _settled(extra: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(values) for name, values in extra.items()}


def decode_key(encoded: str) -> str:
    """The key of an extra value; one with a broken escape is taken as it is."""
    lowered = encoded.lower()
    if "%" not in lowered:
        return lowered
    pieces = lowered.split("%")[1:]
    if any(len(piece) < 2 or not _is_hex(piece[:2]) for piece in pieces):
        return lowered
    return unquote(lowered)


def strip(headers: Headers, config: RequestHeaderConfig | None = None) -> list[tuple[bytes, bytes]]:
    """The headers without any that speak for a user, and without Authorization.

    To be applied once the sender is known, whoever it is:
    nothing behind authentication may see a forged header.
    """
    names = _compiled(config or STANDARD)
    return [
        (key, value)
        for key, value in headers
        if (lowered := key.lower()) not in names.stripped and not lowered.startswith(names.stripped_prefixes)
    ]


@dataclass(frozen=True, slots=True)
class _Names:
    """The header names of a configuration as requests have them: lower-case bytes."""

    users: tuple[bytes, ...]
    uids: tuple[bytes, ...]
    groups: tuple[bytes, ...]
    prefixes: tuple[bytes, ...]
    wanted: frozenset[bytes]
    stripped: frozenset[bytes]
    stripped_prefixes: tuple[bytes, ...]


@lru_cache(maxsize=8)
def _compiled(config: RequestHeaderConfig) -> _Names:
    users, uids = _lowered(config.username_headers), _lowered(config.uid_headers)
    groups, prefixes = _lowered(config.group_headers), _lowered(config.extra_prefixes)
    wanted = frozenset((*users, *uids, *groups))
    standard = (*STANDARD.username_headers, *STANDARD.uid_headers, *STANDARD.group_headers)
    return _Names(
        users,
        uids,
        groups,
        prefixes,
        wanted,
        stripped=wanted | frozenset(_lowered(standard)) | {b"authorization"},
        stripped_prefixes=(*prefixes, *_lowered(STANDARD.extra_prefixes)),
    )


def _first(found: dict[bytes, list[str]], names: tuple[bytes, ...]) -> str:
    return next((values[0] for name in names if (values := found.get(name)) and values[0]), "")


def _lowered(names: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(_lower(name) for name in names if name)


def _lower(name: str) -> bytes:
    return name.lower().encode("latin-1", "replace")


def _is_hex(text: str) -> bool:
    return all(char in "0123456789abcdef" for char in text)
