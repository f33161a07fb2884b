"""Nothing is created in a namespace that is not there or on its way out.

kube-apiserver runs no admission for requests that it passes on, so this is ours to do. The behaviour is
that of the
NamespaceLifecycle plugin: a namespace missing from the informer is looked up live before it is believed to
be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from apiserver.machinery import errors
from apiserver.machinery.errors import APIError, Cause
from apiserver.machinery.gvk import GroupResource
from apiserver.registry.hooks import Attributes

_NAMESPACES = GroupResource("", "namespaces")
TERMINATING = "NamespaceTerminating"


class Namespaces(Protocol):
    """Where namespaces are looked up."""

    def cached(self, name: str) -> Mapping[str, Any] | None:
        """The namespace as an informer has it, or None."""
        ...

    async def live(self, name: str) -> Mapping[str, Any]:
        """The namespace as it is now. Raises APIError 404."""
        ...


class NamespaceLifecycle:
    """Admission of creations by the state of their namespace."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces

    async def admit(self, attributes: Attributes) -> None:
        """Refuse creation in a missing (404) or terminating (403) namespace; 503 when that cannot be found
        out."""
        if attributes.operation != "CREATE" or not attributes.resource.namespaced:
            return
        namespace = self._namespaces.cached(attributes.namespace)
        if namespace is None:
            namespace = await self._look_up(attributes.namespace)
        status = namespace.get("status") or {}
        if status.get("phase") != "Terminating" and "deletionTimestamp" not in namespace["metadata"]:
            return
        why = (
            f"unable to create new content in namespace {attributes.namespace} because it is being terminated"
        )
        field = "metadata.namespace"
        message = f"namespace {attributes.namespace} is being terminated"
        raise errors.forbidden(
            attributes.resource.group_resource,
            attributes.name,
            why,
            causes=[Cause(TERMINATING, message, field)],
        )

    async def validate(self, attributes: Attributes) -> None:
        """Nothing more to say."""

    async def _look_up(self, name: str) -> Mapping[str, Any]:
        try:
            return await self._namespaces.live(name)
        except APIError as error:
            if error.code == 404:
                raise errors.not_found(_NAMESPACES, name) from error
            raise errors.unavailable(f"namespace {name} cannot be looked up") from error
