"""Objects, lists and rows as answers: the form that was asked for, in the media type that was asked for."""

from __future__ import annotations

import asyncio

import orjson

from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import JSON, Accepted, accepted
from apiserver.endpoints.respond import encode, send_bytes
from apiserver.machinery import errors
from apiserver.machinery.field import FieldError
from apiserver.machinery.table import with_standard_columns
from apiserver.registry.representation import PartialMetadata, Representation, TableForm, Whole
from apiserver.registry.store import Stored
from apiserver.registry.verbs.list import Listing

INCLUDE = ("", "Metadata", "Object", "None")
_JOIN_IN_THREAD = 4 << 20
"""Bytes above which a list is put together in a thread."""


def form_for(call: Call, accept: Accepted, *, many: bool) -> Representation:
    """The form that an Accept clause asks for. Raises 406 where it does not fit one object or many."""
    resource = call.store.resource
    whole = Whole(resource, call.version)
    match accept.as_kind:
        case None:
            return whole
        case "Table":
            include = call.request.parameter("includeObject")
            if include not in INCLUDE:
                detail = "must be 'Metadata', 'Object', 'None', or empty"
                error = FieldError("FieldValueInvalid", "includeObject", detail, include)
                raise errors.bad_request(f"Unable to convert to Table as requested: {error}")
            columns = with_standard_columns(call.store.version(call.version).columns)
            return TableForm(whole, columns, include, accept.as_version)
        case "PartialObjectMetadata" if not many:
            return PartialMetadata(whole, accept.as_version)
        case "PartialObjectMetadataList" if many:
            return PartialMetadata(whole, accept.as_version)
        case kind:
            what = "a list" if many else "not a list"
            message = f"you requested {kind}, but the requested object is {what} (*unstructured.Unstructured"
            raise errors.APIError(406, "NotAcceptable", f"{message}{'List' if many else ''})")


async def answer_stored(call: Call, status: int, stored: Stored) -> None:
    """Answer a write with the object as it is now."""
    accept = accepted(call.request)
    form = form_for(call, accept, many=False)
    await answer_document(call, status, form.single(stored), accept)


async def answer_listing(call: Call, listing: Listing, accept: Accepted, form: Representation) -> None:
    """Answer with a list; large ones are put together in a thread."""

    def join() -> bytes:
        return form.collection(map(form.item, listing.views), listing.metadata)

    plain = isinstance(form, Whole)
    size = _estimate(listing) * (1 if plain else 8)
    body = await asyncio.to_thread(join) if size > _JOIN_IN_THREAD else join()
    await answer_document(call, 200, body, accept)


def _estimate(listing: Listing) -> int:
    """Bytes of a list, as if its objects were as long as the first and the last: to add all up takes a tenth
    of the time of a list."""
    views = listing.views
    return len(views) * (len(views[0].encoded) + len(views[-1].encoded)) // 2 if views else 0


async def answer_document(call: Call, status: int, document: bytes, accept: Accepted) -> None:
    """Answer with a JSON document, turned into what was negotiated."""
    if accept.media_type != JSON or accept.pretty:
        body = encode(orjson.loads(document), accept)
    else:
        body = document if document.endswith(b"\n") else document + b"\n"
    await send_bytes(call.send, call.request, status, accept.media_type, body)
