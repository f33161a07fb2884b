"""From a resource request to the verb that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.types import Receive, Scope, Send

from apiserver.endpoints import scale
from apiserver.endpoints.call import Call, MayCreate
from apiserver.endpoints.create import create
from apiserver.endpoints.delete import delete
from apiserver.endpoints.deletecollection import deletecollection
from apiserver.endpoints.get import get
from apiserver.endpoints.list import list_
from apiserver.endpoints.patch import patch
from apiserver.endpoints.request import SCOPE_KEY, RequestInfo
from apiserver.endpoints.update import update
from apiserver.endpoints.watch import watch
from apiserver.machinery import errors
from apiserver.machinery.resource import Resource
from apiserver.registry.store import Registry, ResourceStore

Verb = Callable[[Call], Awaitable[None]]

VERBS: Mapping[str, Verb] = {
    "get": get,
    "list": list_,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": deletecollection,
}
STATUS_VERBS: Mapping[str, Verb] = {"get": get, "update": update, "patch": patch}
SCALE_VERBS: Mapping[str, Verb] = {"get": scale.get, "update": scale.update, "patch": scale.patch}
_ACROSS_NAMESPACES = frozenset({"list", "watch"})


class ResourceRouter:
    """The ASGI application for resource requests; errors leave it as APIError."""

    def __init__(self, registry: Registry, may_create: MayCreate) -> None:
        self._registry = registry
        self._may_create = may_create

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose RequestInfo is in the scope. Raises APIError."""
        info: RequestInfo = scope[SCOPE_KEY].info
        store = self._registry.get(info.group, info.resource)
        if store is None or not _is_served(store, info):
            raise errors.no_such_path()
        verb = _verb_for(store.resource, info)
        await verb(Call(scope, receive, send, store, self._may_create))


def _is_served(store: ResourceStore, info: RequestInfo) -> bool:
    version = store.resource.by_version.get(info.version)
    if version is None or not version.served:
        return False
    if store.resource.namespaced:
        return bool(info.namespace) or (info.verb in _ACROSS_NAMESPACES and not info.name)
    # A namespace is read as a resource in its own namespace.
    return not info.namespace or info.resource == "namespaces"


def _verb_for(resource: Resource, info: RequestInfo) -> Verb:
    verbs = _verbs_of(resource, info)
    verb = verbs.get(info.verb)
    if verb is None:
        raise errors.method_not_supported(resource.group_resource, info.verb)
    return verb


def _verbs_of(resource: Resource, info: RequestInfo) -> Mapping[str, Verb]:
    if len(info.parts) > 3:
        raise errors.not_found(resource.group_resource, info.name)
    match info.subresource:
        case "":
            return VERBS if info.verb in resource.verbs else {}
        case "status" if resource.status:
            return STATUS_VERBS
        case "scale" if resource.scale is not None:
            return SCALE_VERBS
        case action if action in resource.actions:
            handler: Verb = resource.actions[action]
            return {"create": handler}
        case _:
            raise errors.not_found(resource.group_resource, info.name)
