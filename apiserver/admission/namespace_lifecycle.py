"""Nothing is created in a namespace that is not there or on its way out.

kube-apiserver runs no admission for requests that it passes on, so this is ours to do. The behaviour is that
of its NamespaceLifecycle plugin (`k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle`): updates and
deletions pass, also in a namespace that is going, and one that the informer does not know is looked up live
before it is believed to be missing. That some namespaces may not be deleted is for their own server to say.
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
        """Let creations into namespaces that live. Raises 404 where the namespace is missing, 403 where it is
        terminating, 503 when that cannot be found out."""
        if attributes.operation != "CREATE" or not attributes.resource.namespaced:
            return
        namespace = self._namespaces.cached(attributes.namespace)
        if namespace is None:
            namespace = await self._look_up(attributes.namespace)
        if _is_terminating(namespace):
            raise _refused(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Nothing more to say."""

    async def _look_up(self, name: str) -> Mapping[str, Any]:
        try:
            return await self._namespaces.live(name)
        except APIError as error:
            if error.code == 404:
                raise errors.not_found(_NAMESPACES, name) from error
            raise errors.unavailable(f"namespace {name} cannot be looked up") from error


def _is_terminating(namespace: Mapping[str, Any]) -> bool:
    status = namespace.get("status") or {}
    return status.get("phase") == "Terminating" or "deletionTimestamp" in namespace["metadata"]


def _refused(attributes: Attributes) -> APIError:
    """403. An object that has no name yet goes by what its name is generated from, as upstream names it."""
    namespace = attributes.namespace
    metadata = (attributes.obj or {}).get("metadata") or {}
    name = attributes.name or metadata.get("generateName") or "Unknown"
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = Cause(TERMINATING, f"namespace {namespace} is being terminated", "metadata.namespace")
    return errors.forbidden(attributes.resource.group_resource, name, why, causes=[cause])
