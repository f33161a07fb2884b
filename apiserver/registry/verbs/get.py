"""get: one object, as of now or not older than a revision."""

from __future__ import annotations

from apiserver.machinery import errors
from apiserver.machinery.field import FieldError
from apiserver.machinery.options import GetOptions
from apiserver.machinery.strconv import parse_unsigned
from apiserver.registry.store import ResourceStore
from apiserver.registry.view import View


async def get(store: ResourceStore, namespace: str, name: str, options: GetOptions) -> View:
    """The view of an object. Raises 404, 422, 503, 504."""
    await wait_for_version(store, options.resource_version)
    entry = store.cache.get(store.key(namespace, name))
    if entry is None:
        raise errors.not_found(store.resource.group_resource, name)
    return entry.view


async def wait_for_version(store: ResourceStore, resource_version: str) -> int:
    """Wait until the cache may answer for this resourceVersion (empty: now; 0: any);
    gives the cache's revision."""
    if not resource_version:
        return await store.fresh()
    asked = parse_version(resource_version)
    await store.cache_reaches(max(asked, 1))
    return store.cache.revision


def parse_version(text: str) -> int:
    """A resourceVersion as a number. Raises 400."""
    try:
        return parse_unsigned(text)
    except ValueError as error:
        found = FieldError("FieldValueInvalid", "resourceVersion", str(error), text)
        raise errors.bad_request(f"invalid resource version: {found}") from None
