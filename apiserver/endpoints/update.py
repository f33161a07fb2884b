"""PUT of an object, or of its /status."""

from __future__ import annotations

import copy
from typing import Any

from apiserver.endpoints.answer import answer_stored
from apiserver.endpoints.body import read_object
from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import accepted
from apiserver.machinery.options import update_options
from apiserver.registry import metadata
from apiserver.registry.verbs.update import Update
from apiserver.registry.verbs.update import update as update_object

Object = dict[str, Any]


async def update(call: Call) -> None:
    """Replace the object by the one in the body; 200."""
    accepted(call.request)
    call.require_name()
    options = update_options(call.query)
    body = await read_object(call, options)
    info, caller = call.request.info, call.caller()
    metadata.ensure_namespace(call.store.resource, body, info.namespace)
    metadata.check_name(body, info.name)
    metadata.dedup_owner_references(body, caller)

    def mutate(live: Object | None) -> Object:
        obj = copy.deepcopy(body)
        call.store.track(live, obj, call.version, info.subresource, options, caller)
        return obj

    request = Update(
        call.store,
        call.version,
        info.namespace,
        info.name,
        info.subresource,
        mutate,
        options,
        caller,
        uid=body["metadata"].get("uid") or "",
    )
    updated = await update_object(request)
    await answer_stored(call, 201 if updated.created else 200, updated.stored)
