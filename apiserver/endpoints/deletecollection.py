"""DELETE of a collection."""

from __future__ import annotations

from apiserver.endpoints.answer import answer_listing, form_for
from apiserver.endpoints.call import Call
from apiserver.endpoints.delete import read_options
from apiserver.endpoints.negotiation import accepted
from apiserver.machinery.options import list_options
from apiserver.registry.selection import select
from apiserver.registry.verbs.deletecollection import delete_collection


async def deletecollection(call: Call) -> None:
    """Delete what is selected, and answer with the objects as they were."""
    accept = accepted(call.request)
    form = form_for(call, accept, many=True)
    listed = list_options(call.query)
    selection = select(call.store.resource, call.request.info.namespace, "", listed)
    options = await read_options(call)
    listing = await delete_collection(call.store, call.version, selection, options, listed, call.caller())
    await answer_listing(call, listing, accept, form)
