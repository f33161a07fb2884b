"""The whole ASGI application: what is served, behind the handler chain."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from starlette.types import ASGIApp

from apiserver.auth.authorizer import Attributes, Authorizer, require
from apiserver.endpoints.call import Call, MayCreate
from apiserver.endpoints.discovery import Discovery
from apiserver.endpoints.health import HealthChecks
from apiserver.endpoints.openapi import OpenAPI
from apiserver.endpoints.router import ResourceRouter
from apiserver.endpoints.status_paths import StatusPaths
from apiserver.machinery import errors
from apiserver.machinery.openapi import Info, build_v2, build_v3
from apiserver.machinery.resource import Resource
from apiserver.registry.store import Registry
from apiserver.release import version_info
from apiserver.server.chain import ChainConfig, build_chain, split
from apiserver.server.filters.instrument import Served


def build_application(registry: Registry, checks: HealthChecks, config: ChainConfig) -> ASGIApp:
    """Put endpoints, status paths and filters together. `config.served` is filled in here."""
    resources = registry.resources
    status_paths = StatusPaths(checks, Discovery(resources), _openapi(resources))
    router = ResourceRouter(registry, _may_create(config.authorizer))
    served = Served(
        frozenset(
            (resource.group, version.name, resource.plural)
            for resource in resources
            for version in resource.versions
        ),
        frozenset({"status", "scale", *(action for resource in resources for action in resource.actions)}),
        frozenset(status_paths.paths),
    )
    return build_chain(split(router, status_paths), replace(config, served=served))


def _openapi(resources: tuple[Resource, ...]) -> OpenAPI:
    info = Info("inference-apiserver", version_info()["gitVersion"])
    served = {
        resource.group_version(declared.name)
        for resource in resources
        for declared in resource.versions
        if declared.served
    }
    return OpenAPI(
        partial(build_v2, resources, info),
        {
            group_version.path.strip("/"): partial(build_v3, group_version, resources, info)
            for group_version in sorted(served)
        },
    )


def _may_create(authorizer: Authorizer) -> MayCreate:
    """An apply or update that creates needs the permission to create, which the chain did not ask for."""

    async def may_create(call: Call) -> None:
        request, info = call.request, call.request.info
        if request.user is None:
            raise errors.unauthorized()
        await require(
            authorizer,
            Attributes(
                user=request.user,
                verb="create",
                group=info.group,
                version=info.version,
                resource=info.resource,
                namespace=info.namespace,
                name=info.name,
                path=info.path,
                is_resource_request=True,
            ),
        )

    return may_create
