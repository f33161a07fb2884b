"""Certificates kept in one secret that all replicas share. How a secret is reached is the caller's business.

A secret is replaced as a whole under its resource version, so the replicas need no lock: the first write
wins, the others read again and use what they find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from certs.directory import FILES
from certs.errors import CertificateError
from certs.rotation import Policy, Stored, complete, prepare
from certs.serving import Names
from certs.source import Material

ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Secret:
    """The decoded data of a secret, and the version that it was read at."""

    data: Mapping[str, bytes] = field(repr=False)
    resource_version: str


class SecretStore(Protocol):
    """One named secret. CertificateError says that the store is out of reach: that is tried again."""

    async def get(self) -> Secret | None:
        """The secret, or None when there is none."""
        ...

    async def create(self, data: Mapping[str, bytes]) -> Secret | None:
        """Make it; None when it exists already."""
        ...

    async def update(self, data: Mapping[str, bytes], resource_version: str) -> Secret | None:
        """Replace its data; None when it is no longer at `resource_version`."""
        ...


class SecretSource:
    """A `Source` over a `SecretStore`; errors of the store pass through unchanged."""

    def __init__(self, store: SecretStore, names: Names, *, policy: Policy | None = None) -> None:
        self._store = store
        self._names = names
        self._policy = policy or Policy()

    async def load(self, now: datetime) -> Material:
        """See `Source.load`."""
        stored = await self._change(lambda stored: prepare(stored, self._names, self._policy, now))
        return Material.of(stored.bundle, stored.serving)

    async def finish(self, now: datetime, published: bytes) -> Material:
        """See `Source.finish`."""

        def finish(stored: Stored) -> Stored:
            if stored.bundle != published:
                return stored  # another replica went further; its bundle is published in the next step
            return complete(stored, self._names, self._policy, now)

        stored = await self._change(finish)
        return Material.of(stored.bundle, stored.serving)

    async def _change(self, change: Callable[[Stored], Stored]) -> Stored:
        for _ in range(ATTEMPTS):
            secret = await self._store.get()
            data = dict(secret.data) if secret else {}
            before = Stored(**{attribute: data.get(key, b"") for attribute, key in FILES})
            after = change(before)
            if after is before:
                return before
            data.update({key: getattr(after, attribute) for attribute, key in FILES})
            if secret is None:
                written = await self._store.create(data)
            else:
                written = await self._store.update(data, secret.resource_version)
            if written is not None:
                return after
        raise CertificateError(f"the secret was changed by others {ATTEMPTS} times in a row")
