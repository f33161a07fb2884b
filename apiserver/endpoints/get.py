"""GET of one object."""

from __future__ import annotations

from apiserver.endpoints.answer import answer_document, form_for
from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import accepted
from apiserver.machinery.options import get_options
from apiserver.registry.verbs.get import get as get_object


async def get(call: Call) -> None:
    """Answer with the object in the form asked for. /status is the same object."""
    accept = accepted(call.request)
    form = form_for(call, accept, many=False)
    info = call.request.info
    view = await get_object(call.store, info.namespace, info.name, get_options(call.query))
    await answer_document(call, 200, form.single(view), accept)
