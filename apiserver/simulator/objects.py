"""What the simulated parts need of the registry."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

Object = dict[str, Any]


class Objects(Protocol):
    """Objects of all served resources, in process, by plural name."""

    async def list(self, resource: str, *, namespace: str = "") -> tuple[list[Object], str]:
        """All objects as of now, and the revision to watch from."""
        ...

    def watch(self, resource: str, *, resource_version: str) -> AsyncIterator[Object]:
        """Events after a revision; with `0` the present state comes first."""
        ...

    async def get(self, resource: str, namespace: str, name: str) -> Object:
        """One object. Raises 404."""
        ...

    async def create(self, resource: str, obj: Object) -> Object:
        """Create an object. Raises 409."""
        ...

    async def update(self, resource: str, obj: Object) -> Object:
        """Replace an object. Raises 409."""
        ...

    async def update_status(self, resource: str, obj: Object) -> Object:
        """Replace an object's status. Raises 409."""
        ...

    async def delete(self, resource: str, obj: Object) -> None:
        """Delete an object. Raises 404 and 409."""
        ...
