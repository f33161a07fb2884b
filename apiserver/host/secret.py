"""One Secret of the host cluster, as the certificates that all replicas share are kept in it."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Mapping

from apiserver.host.client import HostClient, Object
from apiserver.host.errors import HostUnreachable
from apiserver.machinery.errors import APIError
from certs.errors import CertificateError
from certs.secret import Secret


class HostSecret:
    """A `certs.SecretStore`."""

    def __init__(self, host: HostClient, namespace: str, name: str) -> None:
        self._host = host
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._name = name

    async def get(self) -> Secret | None:
        """The secret, or None when there is none. Raises CertificateError."""
        return await self._try(self._host.get(f"{self._collection}/{self._name}"), absent=404)

    async def create(self, data: Mapping[str, bytes]) -> Secret | None:
        """Make it; None when it exists already. Raises CertificateError."""
        return await self._try(self._host.create(self._collection, self._body(data)), absent=409)

    async def update(self, data: Mapping[str, bytes], resource_version: str) -> Secret | None:
        """Replace its data; None when it has changed since. Raises CertificateError.

        A merge patch: labels and annotations are of whoever installed it.
        """
        body = self._body(data)
        body["metadata"]["resourceVersion"] = resource_version
        return await self._try(self._host.patch(f"{self._collection}/{self._name}", body), absent=409)

    async def _try(self, call: Awaitable[Object], *, absent: int) -> Secret | None:
        try:
            found = await call
        except APIError as error:
            if error.code == absent:
                return None
            raise CertificateError(f"secret {self._name}: {error}") from error
        except HostUnreachable as error:
            raise CertificateError(f"secret {self._name}: {error}") from error
        data = {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}
        return Secret(data, found["metadata"]["resourceVersion"])

    def _body(self, data: Mapping[str, bytes]) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": self._name},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
