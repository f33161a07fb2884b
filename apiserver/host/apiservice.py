"""Tells the aggregator which authority to trust: the `caBundle` of our APIServices."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from apiserver.host.client import HostClient
from apiserver.host.errors import HostUnreachable
from apiserver.machinery.errors import APIError
from certs.errors import PublishError

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"


class BundlePublisher:
    """Writes the bundle into the APIServices of one Service, where it differs. What is not registered yet is
    left to whoever registers it."""

    def __init__(self, host: HostClient, names: Sequence[str], service: tuple[str, str]) -> None:
        """`service` is (namespace, name): APIServices of another one are not ours to write."""
        self._host = host
        self._names = names
        self._service = service

    async def publish(self, bundle: bytes) -> None:
        """Raises PublishError when the host cluster cannot be told."""
        if not bundle:
            return
        wanted = base64.b64encode(bundle).decode()
        for name in self._names:
            try:
                await self._publish(name, wanted)
            except (APIError, HostUnreachable) as error:
                raise PublishError(f"APIService {name}: {error}") from error

    async def _publish(self, name: str, wanted: str) -> None:
        try:
            found = await self._host.get(f"{PATH}/{name}")
        except APIError as error:
            if error.code == 404:
                return
            raise
        spec = found.get("spec") or {}
        service = spec.get("service") or {}
        if (service.get("namespace"), service.get("name")) != self._service or spec.get("caBundle") == wanted:
            return
        await self._host.patch(f"{PATH}/{name}", {"spec": {"caBundle": wanted}})
