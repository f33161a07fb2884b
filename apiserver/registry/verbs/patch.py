"""patch: JSON patch and merge patch, as changes of the live object;
server-side apply, as a merge of intentions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.machinery.options import WriteOptions
from apiserver.machinery.patch import copy_json
from apiserver.registry.hooks import Caller
from apiserver.registry.store import ResourceStore
from apiserver.registry.verbs.update import Update, Updated, update

Object = dict[str, Any]
Patch = Callable[[Object], Object]
"""From the live object in the version of the request to the patched one, pruned and defaulted. Raises 400,
413, 422."""


async def patch(
    store: ResourceStore,
    version: str,
    namespace: str,
    name: str,
    subresource: str,
    change: Patch,
    options: WriteOptions,
    caller: Caller,
) -> Updated:
    """Apply a patch. A lost race is run again on the newer object. Raises what update raises."""

    def mutate(live: Object | None) -> Object:
        if live is None:
            raise AssertionError("a patch that creates is an apply")
        before = copy_json(live)
        patched = change(live)
        if subresource:
            patched.update(apiVersion=before["apiVersion"], kind=before["kind"])  # not written through it
        if patched.get("apiVersion") == before["apiVersion"]:
            # Of another version nothing is known that could be tracked; validation refuses it.
            store.track(before, patched, version, subresource, options, caller)
        return patched

    return await update(Update(store, version, namespace, name, subresource, mutate, options, caller))


async def apply(
    store: ResourceStore,
    version: str,
    namespace: str,
    name: str,
    subresource: str,
    intention: Callable[[], Object],
    finish: Patch,
    options: WriteOptions,
    caller: Caller,
) -> Updated:
    """Server-side apply: `intention` gives a fresh copy of what the manager wants,
    `finish` prunes and defaults the merged object. Creates what is not there.
    Raises 409 when others own what would change, and what update raises."""

    def mutate(live: Object | None) -> Object:
        merged = store.field_manager.apply(
            live,
            intention(),
            manager=options.field_manager,
            force=bool(options.force),
            version=version,
            subresource=subresource,
            now=caller.timestamp(),
        )
        return finish(merged)

    request = Update(
        store,
        version,
        namespace,
        name,
        subresource,
        mutate,
        options,
        caller,
        may_create=not subresource,
        unconditional=True,
    )
    return await update(request)
