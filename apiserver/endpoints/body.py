"""The object in a request body, taken in as the request's field validation says."""

from __future__ import annotations

from typing import Any

from apiserver.endpoints.call import Call, decoded
from apiserver.endpoints.negotiation import body_media_type
from apiserver.machinery import errors
from apiserver.machinery.codec import cannot_be_handled, decode, strict_error, unrecognized, warning_texts
from apiserver.machinery.options import WriteOptions
from apiserver.registry.intake import take_in

Object = dict[str, Any]


async def read_object(call: Call, options: WriteOptions) -> Object:
    """Decode the body and take it in. Raises 400, 413, 415."""
    media_type = body_media_type(call.header(b"content-type"))
    body = await call.body()
    return await decoded(body, lambda: object_from(call, body, media_type, options))


def object_from(call: Call, body: bytes, media_type: Any, options: WriteOptions) -> Object:
    """The object in `body`, pruned and defaulted. Raises 400."""
    resource = call.store.resource
    document = decode(body, media_type, kind=resource.kind)
    obj = document.obj
    if (obj.get("apiVersion") or "").count("/") > 1:
        why = f"unexpected GroupVersion string: {obj['apiVersion']}"
        raise unrecognized(resource.kind, why, body)
    expected = str(resource.group_version(call.version))
    try:
        unknown = take_in(resource, call.version, obj)
    except ValueError as error:
        raise cannot_be_handled(obj, resource.kind, str(error)) from None
    strictness = document.duplicates + unknown
    if strictness and options.field_validation == "Strict":
        raise strict_error(obj, resource.kind, strictness)
    if options.field_validation == "Warn":
        call.request.warnings.extend(warning_texts(strictness))
    given = obj.get("apiVersion") or ""
    if given != expected:
        raise errors.bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({expected})"
        )
    return obj
