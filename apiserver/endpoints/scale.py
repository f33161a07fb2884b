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
from apiserver.registry.scale import API_VERSION, KIND, scale_of, with_scale
from apiserver.registry.store import Stored
from apiserver.registry.verbs.get import get as get_object
from apiserver.registry.verbs.patch import track
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
    scale = decode(await call.body(), media_type, kind=KIND).obj
    scale.setdefault("metadata", {})
    info = call.request.info
    if scale.get("apiVersion") != API_VERSION:
        raise errors.bad_request(
            f"the API version in the data ({scale.get('apiVersion')}) does not match "
            f"the expected API version ({API_VERSION})"
        )
    metadata.ensure_namespace(call.store.resource, scale, info.namespace)
    metadata.check_name(scale, info.name)
    await _change(call, lambda _: scale, options)


async def patch(call: Call) -> None:
    """Patch the Scale of the object."""
    media_type = patch_type(call)
    body = await call.body()
    options = patch_options(call.query, apply=media_type == APPLY_PATCH)
    if media_type == APPLY_PATCH:
        wanted = decode(body, "application/yaml", kind=KIND).obj
        await _change(call, lambda live: {**live, "spec": wanted.get("spec") or {}}, options)
        return
    change = read_patch(media_type, body, options)
    await _change(call, change.apply, options)


async def _change(call: Call, wanted: Callable[[Object], Any], options: WriteOptions) -> None:
    resource, info, caller = call.store.resource, call.request.info, call.caller()
    storage_version = resource.storage_version

    def mutate(live: Object | None) -> Object:
        assert live is not None, "a scale never creates"
        scale = wanted(scale_of(resource, live))
        if not isinstance(scale, dict):
            raise errors.bad_request("a Scale is an object")
        obj = with_scale(resource, copy_json(live), scale)
        track(call.store, live, obj, storage_version, "scale", options, caller)
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
