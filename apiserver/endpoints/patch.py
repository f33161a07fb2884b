"""PATCH of an object, or of its /status."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import orjson

from apiserver.endpoints.answer import answer_stored
from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import accepted
from apiserver.machinery import errors
from apiserver.machinery.codec import DecodeError, decode_value
from apiserver.machinery.field import FieldError
from apiserver.machinery.options import WriteOptions, patch_options
from apiserver.machinery.patch import json_patch, merge_patch
from apiserver.registry.intake import take_in
from apiserver.registry.verbs.patch import apply as apply_object
from apiserver.registry.verbs.patch import patch as patch_object

Object = dict[str, Any]
Change = Callable[[Object], tuple[Any, list[str]]]
"""From the live object to the patched one and the strict errors of the patch itself."""

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
SUPPORTED = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


async def patch(call: Call) -> None:
    """Patch the object as the content type says; 200, or 201 when an apply created it."""
    media_type = patch_type(call)
    accepted(call.request)
    body = await call.body()
    options = patch_options(call.query, apply=media_type == APPLY_PATCH)
    info = call.request.info
    if media_type == APPLY_PATCH:
        intention, finish = _apply(call, body, options)
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
        change = json_change(body) if media_type == JSON_PATCH else merge_change(body, options)
        updated = await patch_object(
            call.store,
            call.version,
            info.namespace,
            info.name,
            info.subresource,
            lambda live: _take_in_patched(call, *change(live), options),
            options,
            call.caller(),
        )
    await answer_stored(call, 201 if updated.created else 200, updated.stored)


def patch_type(call: Call) -> str:
    """The media type of the patch. Raises 415 with the supported ones, as for a custom resource."""
    media_type = call.header(b"content-type").partition(";")[0]
    if media_type not in SUPPORTED:
        listed = ", ".join(SUPPORTED)
        raise errors.unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {listed}"
        )
    return media_type


def json_change(body: bytes) -> Change:
    """A JSON patch. Raises 400 and 413."""
    try:
        value, duplicates = decode_value(body, "application/json")
    except DecodeError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None
    strictness = [f"json patch {text}" for text in duplicates]
    operations = json_patch.parse(value)
    return lambda live: (json_patch.apply(live, operations), strictness)


def merge_change(body: bytes, options: WriteOptions) -> Change:
    """A merge patch. Raises 400."""
    try:
        value, duplicates = decode_value(body, "application/json")
    except DecodeError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None
    if not isinstance(value, dict):
        if options.field_validation == "Ignore":
            raise errors.bad_request("Invalid JSON Patch")
        kind = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}.get(type(value))
        if kind is not None:
            why = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            raise errors.bad_request(f"error decoding patch: {why}")
    return lambda live: (merge_patch.apply(live, value), duplicates)


def _take_in_patched(call: Call, patched: Any, strictness: list[str], options: WriteOptions) -> Object:
    """The patched document as an object of the version. Raises 422 with the document when it is none."""
    document = orjson.dumps(patched).decode()
    if not isinstance(patched, dict) or not isinstance(patched.get("kind"), str) or not patched["kind"]:
        raise _bad_patch(document, f"Object 'Kind' is missing in '{document}'")
    try:
        unknown = take_in(call.store.resource, call.version, patched)
    except ValueError as error:
        raise _bad_patch(document, str(error)) from None
    found = [*strictness, *unknown]
    if found and options.field_validation == "Strict":
        raise _bad_patch(document, f"strict decoding error: {', '.join(found)}")
    if options.field_validation == "Warn":
        call.request.warnings.extend(text for text in found if text not in call.request.warnings)
    return patched


def _bad_patch(document: str, why: str) -> errors.APIError:
    return errors.invalid("", "", "", [FieldError("FieldValueInvalid", "patch", why, document)])


def _apply(
    call: Call, body: bytes, options: WriteOptions
) -> tuple[Callable[[], Object], Callable[[Object], Object]]:
    try:
        value, duplicates = decode_value(body, "application/yaml")
    except DecodeError as error:
        raise errors.bad_request(f"error decoding YAML: {error}") from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise errors.bad_request(
            "error decoding YAML: json: cannot unmarshal value into Go value of type map[string]interface {}"
        )

    def finish(merged: Object) -> Object:
        if duplicates and options.field_validation == "Strict":
            raise errors.bad_request(f"error strict decoding YAML: {', '.join(duplicates)}")
        if options.field_validation == "Warn":
            call.request.warnings.extend(text for text in duplicates if text not in call.request.warnings)
        try:
            take_in(call.store.resource, call.version, merged)
        except ValueError as error:
            raise errors.bad_request(str(error)) from None
        return merged

    return lambda: copy.deepcopy(value), finish
