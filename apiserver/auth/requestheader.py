"""The front proxy: kube-apiserver speaks for its users in headers, and proves that it may with its
certificate.

The certificate is verified against the requestheader authority alone. Header names come from the
configuration of the moment. Source of the behaviour:
`k8s.io/apiserver/pkg/authentication/request/headerrequest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import unquote

from apiserver.auth.configmap import RequestHeaderConfig
from apiserver.auth.request import Credentials, Headers, first_value, text_of, values_of
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
        """`config` gives the configuration of the moment; `verifier` knows the requestheader authority
        only.
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
    name = _first(headers, config.username_headers)
    if not name:
        return None
    groups = (value for header in config.group_headers for value in values_of(headers, header) if value)
    return UserInfo(
        name=name,
        uid=_first(headers, config.uid_headers),
        groups=tuple(groups),
        extra=extra_from(headers, config.extra_prefixes),
    )


def extra_from(headers: Headers, prefixes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Extra values by key. Keys are what follows the prefix: lower-cased, then percent-decoded."""
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in prefixes:
        start = prefix.lower().encode("latin-1", "replace")
        for key, value in headers:
            if key.lower().startswith(start):
                name = decode_key(text_of(key[len(start) :]))
                extra[name] = (*extra.get(name, ()), text_of(value))
    return extra


def decode_key(encoded: str) -> str:
    """The key of an extra value; one with a broken escape is taken as it is."""
    lowered = encoded.lower()
    pieces = lowered.split("%")[1:]
    if any(len(piece) < 2 or not _is_hex(piece[:2]) for piece in pieces):
        return lowered
    return unquote(lowered)


def strip(headers: Headers, config: RequestHeaderConfig | None = None) -> list[tuple[bytes, bytes]]:
    """The headers without any that speak for a user, and without Authorization.

    To be applied once the sender is known, whoever it is: nothing behind authentication may see a forged
    header.
    """
    configs = (STANDARD, config) if config else (STANDARD,)
    names = {b"authorization"}
    prefixes: list[bytes] = []
    for item in configs:
        for header in (*item.username_headers, *item.uid_headers, *item.group_headers):
            names.add(header.lower().encode("latin-1", "replace"))
        prefixes += [prefix.lower().encode("latin-1", "replace") for prefix in item.extra_prefixes]
    starts = tuple(prefixes)
    return [
        (key, value)
        for key, value in headers
        if (lowered := key.lower()) not in names and not lowered.startswith(starts)
    ]


def _first(headers: Headers, names: Iterable[str]) -> str:
    return next((value for name in names if (value := first_value(headers, name))), "")


def _is_hex(text: str) -> bool:
    return all(char in "0123456789abcdef" for char in text)
