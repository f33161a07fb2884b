"""The namespaces of the host cluster, as admission asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.host.client import HostClient
from apiserver.host.errors import HostUnreachable
from apiserver.machinery import errors


class HostNamespaces:
    """Looks namespaces up: first in what is followed, then live.
    `followed` gives a namespace by name or None."""

    def __init__(self, host: HostClient, followed: Callable[[str], Mapping[str, Any] | None]) -> None:
        self._host = host
        self._followed = followed

    def cached(self, name: str) -> Mapping[str, Any] | None:
        """The namespace as it is followed."""
        return self._followed(name)

    async def live(self, name: str) -> Mapping[str, Any]:
        """The namespace as it is now. Raises APIError: 404, or 503 when nobody answers."""
        try:
            return await self._host.get(f"/api/v1/namespaces/{name}")
        except HostUnreachable as error:
            raise errors.unavailable("the host cluster cannot be reached") from error
