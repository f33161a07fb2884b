"""The Secret of the certificates, as `certs` wants to see it: content and version, nothing of Kubernetes."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from apiserver.machinery.errors import APIError
from certs.errors import CertificateError
from certs.secret import Secret
from deploy.cluster import Client
from deploy.objects import Object, collection_path, path_of


class InstalledSecret:
    """A `SecretStore` over a Secret that may exist already, with or without content."""

    def __init__(self, client: Client, template: Object) -> None:
        """`template` is the Secret without content."""
        self._client = client
        self._template = template

    async def get(self) -> Secret | None:
        """See `SecretStore.get`."""
        try:
            return _decoded(await self._client.get(path_of(self._template)))
        except APIError as error:
            if error.code == 404:
                return None
            raise CertificateError(f"the secret cannot be read: {error.message}") from error
        except OSError as error:
            raise CertificateError(f"the secret cannot be read: {error}") from error

    async def create(self, data: Mapping[str, bytes]) -> Secret | None:
        """See `SecretStore.create`."""
        metadata = self._template["metadata"]
        path = collection_path("v1", "Secret", metadata["namespace"])
        try:
            return _decoded(await self._client.create(path, {**self._template, "data": _encoded(data)}))
        except APIError as error:
            _raise_unless(error, "AlreadyExists")
            return None
        except OSError as error:
            raise CertificateError(f"the secret cannot be written: {error}") from error

    async def update(self, data: Mapping[str, bytes], resource_version: str) -> Secret | None:
        """See `SecretStore.update`."""
        path = path_of(self._template)
        try:
            current = await self._client.get(path)
            current["metadata"]["resourceVersion"] = resource_version
            return _decoded(await self._client.update(path, {**current, "data": _encoded(data)}))
        except APIError as error:
            _raise_unless(error, "Conflict")
            return None
        except OSError as error:
            raise CertificateError(f"the secret cannot be written: {error}") from error


def _raise_unless(error: APIError, reason: str) -> None:
    """Another writer was first: that is for the caller to handle. Anything else is an error."""
    if error.code != 409 or error.reason != reason:
        raise CertificateError(f"the secret cannot be written: {error.message}") from error


def _decoded(obj: Object) -> Secret:
    data = {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    return Secret(data, obj["metadata"]["resourceVersion"])


def _encoded(data: Mapping[str, bytes]) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in data.items()}
