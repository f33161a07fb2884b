"""The stored form of an object, made so that its resourceVersion can be put in without parsing.

A stored object is canonical JSON without `metadata.resourceVersion`, because the revision is only known when
the store has written it. The keys `apiVersion`, `kind` and `metadata` come first, in this order: the first
`"metadata":{` in the bytes is then the metadata of the object itself, whatever the object holds, because the
two strings before it cannot contain an unescaped quote.
"""

from __future__ import annotations

from typing import Any

import orjson

_METADATA = b'"metadata":{'


def store_form(obj: dict[str, Any]) -> bytes:
    """The stored form. Raises ValueError unless apiVersion and kind are strings and metadata is an object."""
    api_version, kind, metadata = obj.get("apiVersion"), obj.get("kind"), obj.get("metadata")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not isinstance(metadata, dict):
        raise ValueError("an object to store needs apiVersion, kind and metadata")
    if "resourceVersion" in metadata:
        metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
    ordered: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    for key, value in obj.items():
        if key not in ordered:
            ordered[key] = value
    return orjson.dumps(ordered)


def splice_resource_version(stored: bytes, revision: int) -> bytes:
    """The object as clients see it: the stored form with `metadata.resourceVersion`. Copies once."""
    at = stored.index(_METADATA) + len(_METADATA)
    comma = b"" if stored[at] == 0x7D else b","
    return b'%b"resourceVersion":"%d"%b%b' % (stored[:at], revision, comma, stored[at:])
