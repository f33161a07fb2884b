"""Admission plugins one after the other: first all that may change the object, then all that only judge."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.registry.hooks import Admission, Attributes


class AdmissionChain:
    """Several plugins as one."""

    def __init__(self, plugins: Sequence[Admission]) -> None:
        self._plugins = tuple(plugins)

    async def admit(self, attributes: Attributes) -> None:
        """Let each plugin change the object. Raises the first refusal."""
        for plugin in self._plugins:
            await plugin.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Let each plugin judge the object. Raises the first refusal."""
        for plugin in self._plugins:
            await plugin.validate(attributes)
