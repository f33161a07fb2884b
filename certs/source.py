"""Where the server's certificate comes from: one small interface, so that the server knows of nothing
behind it.

`GivenFiles` is the simplest source: somebody else (cert-manager, an operator) writes
two files and replaces them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from certs.authority import KeyPair
from certs.errors import CertificateError


@dataclass(frozen=True, slots=True)
class Material:
    """What a server needs for handshakes, and what its clients need to trust it. All PEM."""

    ca_bundle_pem: bytes
    cert_pem: bytes
    key_pem: bytes = field(repr=False)
    not_after: datetime

    @classmethod
    def of(cls, bundle: bytes, pair: KeyPair) -> Material:
        """Raises CertificateError unless certificate and key can be read and belong together."""
        pair.check()
        return cls(bundle, pair.cert_pem, pair.key_pem, pair.certificate().not_valid_after_utc)


class Source(Protocol):
    """A place that certificates come from."""

    async def load(self, now: datetime) -> Material:
        """What to show now: makes, renews or reads again what is missing or due. Raises CertificateError."""
        ...

    async def finish(self, now: datetime, published: bytes) -> Material:
        """What to show now that everybody trusts the bundle `published`: a rotation may have waited for that.

        Raises CertificateError.
        """
        ...


class GivenFiles:
    """`--tls-cert-file` and `--tls-private-key-file`; read again whenever asked, never written."""

    def __init__(self, cert_file: Path, key_file: Path, ca_file: Path | None = None) -> None:
        """`ca_file` is the bundle that clients should trust; without it there is none to publish."""
        self._cert_file = cert_file
        self._key_file = key_file
        self._ca_file = ca_file

    async def load(self, now: datetime) -> Material:  # noqa: ARG002 - the files are what they are at any time
        """The files' present content. Raises CertificateError, also while only one of
        the two has been replaced.
        """
        return await asyncio.to_thread(self._read)

    async def finish(self, now: datetime, published: bytes) -> Material:  # noqa: ARG002
        """The same: whoever writes the files has to think of the order."""
        return await self.load(now)

    def _read(self) -> Material:
        try:
            cert, key = self._cert_file.read_bytes(), self._key_file.read_bytes()
            bundle = self._ca_file.read_bytes() if self._ca_file else b""
        except OSError as error:
            raise CertificateError(f"a certificate file cannot be read: {error}") from error
        return Material.of(bundle, KeyPair(cert, key))
