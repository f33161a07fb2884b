"""/scale: how many replicas are wanted, in the form that `kubectl scale` and autoscalers know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.endpoints.answer import answer_document
from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import PLAIN, accepted, body_media_type
from apiserver.endpoints.patch import APPLY_PATCH, patch_type, read_patch
from apiserver.machinery import errors
from apiserver.machinery.codec import decode, encode
from apiserver.machinery.options import WriteOptions, get_options, patch_options, update_options
from apiserver.machinery.patch import copy_json
from apiserver.registry import metadata
from apiserver.registry.scale import (
    API_VERSION,
    KIND,
    prune_scale,
    replicas_intention,
    scale_of,
    with_scale,
)
from apiserver.registry.store import Stored
from apiserver.registry.verbs.get import get as get_object
from apiserver.registry.verbs.patch import apply as apply_object
from apiserver.registry.verbs.update import Update
from apiserver.registry.verbs.update import update as update_object

Object = dict[str, Any]


async def get(call: Call) -> None:
    """Answer with the Scale of the object."""
    accepted(call.request, PLAIN)
    info = call.request.info
    view = await get_object(call.store, info.namespace, info.name, get_options(call.query))
    await _answer(call, view.decode())


async def update(call: Call) -> None:
    """Set the replicas as the Scale in the body says."""
    options = update_options(call.query)
    media_type: Any = body_media_type(call.header(b"content-type"))
    scale = _read(call, await call.body(), media_type, options)
    metadata.ensure_namespace(call.store.resource, scale, call.request.info.namespace)
    metadata.check_name(scale, call.request.info.name)
    await _change(call, lambda _: scale, options)


async def patch(call: Call) -> None:
    """Patch the Scale of the object; an apply conflicts with other managers of the replicas."""
    media_type = patch_type(call)
    body = await call.body()
    options = patch_options(call.query, apply=media_type == APPLY_PATCH)
    if media_type == APPLY_PATCH:
        await _apply(call, _read(call, body, "application/yaml", options), options)
        return
    change = read_patch(media_type, body, options)

    def patched(scale: Object) -> Object:
        wanted = change.apply(scale)
        if not isinstance(wanted, dict):
            raise errors.bad_request("a Scale is an object")
        _warn(call, prune_scale(wanted), options)
        return wanted

    await _change(call, patched, options)


def _read(call: Call, body: bytes, media_type: Any, options: WriteOptions) -> Object:
    """The Scale in a body. Raises 400."""
    decoded = decode(body, media_type, kind=KIND)
    scale = decoded.obj
    if not isinstance(scale.get("metadata"), dict):
        scale["metadata"] = {}
    given = scale.get("apiVersion")
    if given != API_VERSION:
        raise errors.bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({API_VERSION})"
        )
    _warn(call, [*decoded.duplicates, *prune_scale(scale)], options)
    return scale


def _warn(call: Call, found: list[str], options: WriteOptions) -> None:
    if found and options.field_validation == "Strict":
        raise errors.bad_request(f"strict decoding error: {', '.join(found)}")
    if options.field_validation == "Warn":
        call.request.warnings.extend(found)


async def _apply(call: Call, scale: Object, options: WriteOptions) -> None:
    """Apply the replicas to the object itself: they are one and the same field, whoever sets it."""
    resource, info = call.store.resource, call.request.info
    updated = await apply_object(
        call.store,
        resource.storage_version,
        info.namespace,
        info.name,
        "scale",
        lambda: replicas_intention(resource, scale, info.namespace, info.name),
        lambda merged: merged,
        options,
        call.caller(),
    )
    await _answer(call, updated.stored.obj)


async def _change(call: Call, wanted: Callable[[Object], Object], options: WriteOptions) -> None:
    resource, info, caller = call.store.resource, call.request.info, call.caller()
    storage_version = resource.storage_version

    def mutate(live: Object | None) -> Object:
        assert live is not None, "a scale never creates"
        obj = with_scale(resource, copy_json(live), wanted(scale_of(resource, live)))
        call.store.track(live, obj, storage_version, "scale", options, caller)
        return obj

    request = Update(
        call.store,
        storage_version,
        info.namespace,
        info.name,
        "scale",
        mutate,
        options,
        caller,
        unconditional=True,
    )
    stored: Stored = (await update_object(request)).stored
    await _answer(call, stored.obj)


async def _answer(call: Call, obj: Object) -> None:
    accept = accepted(call.request, PLAIN)
    await answer_document(call, 200, encode(scale_of(call.store.resource, obj)).rstrip(), accept)
