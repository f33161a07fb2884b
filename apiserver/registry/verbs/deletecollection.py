"""deletecollection: every selected object, one after the other;
those deleted by others meanwhile do not matter.
"""

from __future__ import annotations

from dataclasses import replace

from apiserver.machinery.errors import APIError
from apiserver.machinery.options import DeleteOptions, ListOptions
from apiserver.registry.hooks import Caller
from apiserver.registry.selection import Selection
from apiserver.registry.store import ResourceStore
from apiserver.registry.verbs.delete import delete
from apiserver.registry.verbs.list import Listing, list_objects
from apiserver.registry.view import View

PAGE = 10_000
"""Objects that are listed at once, as upstream does."""


async def delete_collection(
    store: ResourceStore,
    version: str,
    selection: Selection,
    options: DeleteOptions,
    listed: ListOptions,
    caller: Caller,
) -> Listing:
    """Delete what is selected; gives the objects as they were listed. Raises what list and delete raise."""
    page_options = listed if listed.limit else replace(listed, limit=PAGE)
    views: list[View] = []
    while True:
        page = await list_objects(store, selection, page_options)
        for view in page.views:
            try:
                await delete(store, version, view.namespace, view.name, options, caller)
            except APIError as error:
                if error.code != 404:
                    raise
        views.extend(page.views)
        if not page.continue_token or listed.limit:
            return Listing(tuple(views), page.revision, page.continue_token, page.remaining)
        page_options = replace(
            page_options,
            continue_token=page.continue_token,
            resource_version="",
            resource_version_match="",
        )
