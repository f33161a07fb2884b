"""POST to a collection."""

from __future__ import annotations

from apiserver.endpoints.answer import answer_stored
from apiserver.endpoints.body import read_object
from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import accepted
from apiserver.machinery.options import create_options
from apiserver.registry import metadata
from apiserver.registry.verbs.create import create as create_object


async def create(call: Call) -> None:
    """Create the object in the body; 201."""
    accepted(call.request)
    options = create_options(call.query)
    obj = await read_object(call, options)
    namespace, name = call.request.info.namespace, call.request.info.name
    if name:
        # A custom resource takes a POST to a name as one to the collection. What was authorized is this
        # name, so the object must have it.
        metadata.check_name(obj, name)
    stored = await create_object(call.store, call.version, namespace, obj, options, call.caller())
    await answer_stored(call, 201, stored)
