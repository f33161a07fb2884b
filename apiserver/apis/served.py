"""All resources that the server offers, and the group versions that they make.

A new group is added here and nowhere else: the registration with the aggregator, the permissions of users and
the manifests follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver.apis.ai.resources import RESOURCES as AI
from apiserver.machinery.gvk import GroupVersion
from apiserver.machinery.resource import Resource

SERVED: tuple[Resource, ...] = AI
"""Every resource that the server offers."""


def group_versions() -> list[GroupVersion]:
    """The served versions, group by group, the preferred version of a group first."""
    found: dict[GroupVersion, None] = {}
    for resource in SERVED:
        for version in resource.versions:
            if version.served:
                found.setdefault(resource.group_version(version.name))
    groups = list(dict.fromkeys(group_version.group for group_version in found))
    return sorted(found, key=lambda group_version: groups.index(group_version.group))


def api_service_name(group_version: GroupVersion) -> str:
    """The name that the aggregator demands of an APIService."""
    return f"{group_version.version}.{group_version.group}"


def by_group(resources: Iterable[Resource] = SERVED) -> dict[str, list[Resource]]:
    """Resources by group."""
    result: dict[str, list[Resource]] = {}
    for resource in resources:
        result.setdefault(resource.group, []).append(resource)
    return result
