"""What a request shows of its sender, and the interface of everything that judges it.

Must not know HTTP frameworks or TLS: headers and certificates arrive as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from apiserver.auth.user import UserInfo

Headers = Sequence[tuple[bytes, bytes]]
"""Name (lower-case, as ASGI has it) and value, in the order of the wire."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything that a request says about its sender.

    `peer_certificate` is DER, as the TLS layer received it: nobody has verified it yet.
    `peer_intermediates` are the other certificates that came with it. `audiences` are those that a token
    has to be meant for; none means any.
    """

    headers: Headers
    peer_certificate: bytes | None = None
    audiences: tuple[str, ...] = ()
    peer_intermediates: tuple[bytes, ...] = ()


class Authenticator(Protocol):
    """One way to tell who sent a request."""

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        """The sender, or None for no opinion. Raises an APIError (401) for credentials that are no good."""
        ...


def text_of(value: bytes) -> str:
    """A header value as text. Go passes the bytes on as they are, so names beyond ASCII arrive as UTF-8."""
    return value.strip(b" \t").decode("utf-8", "replace")


def values_of(headers: Headers, name: str) -> Iterator[str]:
    """All values of a header, in order; `name` in any case."""
    wanted = name.lower().encode("latin-1", "replace")
    return (text_of(value) for key, value in headers if key.lower() == wanted)


def first_value(headers: Headers, name: str) -> str:
    """The first value of a header, or an empty text."""
    return next(values_of(headers, name), "")
