"""GET of a collection."""

from __future__ import annotations

from apiserver.endpoints.answer import answer_listing, form_for
from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import accepted
from apiserver.machinery.options import list_options
from apiserver.registry.selection import select
from apiserver.registry.verbs.list import list_objects


async def list_(call: Call) -> None:
    """Answer with the selected objects in the form asked for."""
    accept = accepted(call.request)
    form = form_for(call, accept, many=True)
    options = list_options(call.query)
    selection = select(call.store.resource, call.request.info.namespace, "", options)
    listing = await list_objects(call.store, selection, options)
    await answer_listing(call, listing, accept, form)
