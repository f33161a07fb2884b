"""DELETE of an object."""

from __future__ import annotations

from typing import Any

from apiserver.endpoints.answer import answer_stored
from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import accepted, body_media_type
from apiserver.endpoints.respond import send_object
from apiserver.machinery import errors
from apiserver.machinery.codec import DecodeError, decode_value
from apiserver.machinery.options import DeleteOptions, delete_options, delete_options_from_body
from apiserver.registry.verbs.delete import delete as delete_object


async def delete(call: Call) -> None:
    """Delete the object: a Status when it is gone, the object while finalizers hold it."""
    accept = accepted(call.request)
    options = await read_options(call)
    info = call.request.info
    deleted = await delete_object(call.store, call.version, info.namespace, info.name, options, call.caller())
    if not deleted.gone:
        await answer_stored(call, 202 if options.orphan_dependents is False else 200, deleted.stored)
        return
    resource = call.store.resource
    details = {"name": info.name, "group": resource.group, "kind": resource.plural}
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {**details, "uid": deleted.stored.obj["metadata"]["uid"]},
    }
    await send_object(call.send, call.request, 200, accept, status)


async def read_options(call: Call) -> DeleteOptions:
    """DeleteOptions from the body, or from the query when there is none. Raises 400, 413, 415, 422."""
    body = await call.body()
    if not body:
        return delete_options(call.query)
    media_type: Any = body_media_type(call.header(b"content-type"))
    try:
        value, _ = decode_value(body, media_type)
    except DecodeError as error:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    return delete_options_from_body(value)
