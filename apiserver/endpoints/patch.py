"""PATCH of an object, or of its /status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.endpoints.answer import answer_stored
from apiserver.endpoints.call import Call, decoded
from apiserver.endpoints.negotiation import accepted, unsupported
from apiserver.machinery import errors
from apiserver.machinery.codec import encode, json_type, warning_texts
from apiserver.machinery.options import WriteOptions, patch_options
from apiserver.machinery.patch import (
    JSONPatch,
    MergePatch,
    copy_json,
    parse_apply_patch,
    parse_json_patch,
    parse_merge_patch,
    result_invalid,
)
from apiserver.registry.intake import take_in
from apiserver.registry.verbs.patch import apply as apply_object
from apiserver.registry.verbs.patch import patch as patch_object

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
SUPPORTED = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


async def patch(call: Call) -> None:
    """Patch the object as the content type says; 200, or 201 when an apply created it."""
    media_type = patch_type(call)
    call.require_name()
    accepted(call.request)
    body = await call.body()
    options = patch_options(call.query, apply=media_type == APPLY_PATCH)
    info = call.request.info
    if media_type == APPLY_PATCH:
        intention, finish = await decoded(body, lambda: _apply(call, body, options))
        updated = await apply_object(
            call.store,
            call.version,
            info.namespace,
            info.name,
            info.subresource,
            intention,
            finish,
            options,
            call.caller(),
        )
    else:
        change = await decoded(body, lambda: read_patch(media_type, body, options))
        updated = await patch_object(
            call.store,
            call.version,
            info.namespace,
            info.name,
            info.subresource,
            lambda live: _take_in_patched(call, change.apply(live), change.strict_errors, options),
            options,
            call.caller(),
        )
    await answer_stored(call, 201 if updated.created else 200, updated.stored)


def patch_type(call: Call) -> str:
    """The media type of the patch. Raises 415 with the supported ones, as for a custom resource."""
    media_type = call.header(b"content-type").partition(";")[0]
    if media_type not in SUPPORTED:
        raise unsupported(SUPPORTED)
    return media_type


def read_patch(media_type: str, body: bytes, options: WriteOptions) -> JSONPatch | MergePatch:
    """Decode a patch. Raises 400 and 413."""
    parsed = parse_json_patch(body) if media_type == JSON_PATCH else parse_merge_patch(body)
    if options.field_validation == "Ignore":
        parsed.strict_errors.clear()
    return parsed


def _take_in_patched(call: Call, patched: Any, strictness: list[str], options: WriteOptions) -> Object:
    """The patched document as an object of the version. Raises 422 with the document when it is none."""
    if not isinstance(patched, dict) or not isinstance(patched.get("kind"), str) or not patched["kind"]:
        raise result_invalid(patched, f"Object 'Kind' is missing in '{encode(patched).decode().strip()}'")
    if not isinstance(patched.get("apiVersion") or "", str):
        kind = json_type(patched["apiVersion"])
        why = f"json: cannot unmarshal {kind} into Go struct field .apiVersion of type string"
        raise result_invalid(patched, why)
    document = copy_json(patched)
    try:
        unknown = take_in(call.store.resource, call.version, patched)
    except ValueError as error:
        raise result_invalid(document, str(error)) from None
    found = [*strictness, *unknown]
    if found and options.field_validation == "Strict":
        raise result_invalid(document, f"strict decoding error: {', '.join(found)}")
    if options.field_validation == "Warn":
        call.request.warnings.extend(found)
    return patched


def _apply(
    call: Call, body: bytes, options: WriteOptions
) -> tuple[Callable[[], Object], Callable[[Object], Object]]:
    """What the manager wants, anew for each try, and what becomes of the merged object."""
    wanted = parse_apply_patch(body)

    def finish(merged: Object) -> Object:
        if wanted.strict_error and options.field_validation == "Strict":
            raise wanted.strictly()
        if wanted.strict_error and options.field_validation == "Warn":
            call.request.warnings.extend(warning_texts([wanted.strict_error]))
        try:
            take_in(call.store.resource, call.version, merged, applied=True)
        except ValueError as error:
            raise errors.bad_request(str(error)) from None
        return merged

    return lambda: copy_json(wanted.value), finish
