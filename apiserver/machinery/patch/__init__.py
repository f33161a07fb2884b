"""Patches: pure functions from a document and a patch to a new document."""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.machinery.errors import APIError, invalid
from apiserver.machinery.field import Path
from apiserver.machinery.field import invalid as invalid_field
from apiserver.machinery.patch.apply_patch import ApplyPatch, parse_apply_patch
from apiserver.machinery.patch.json_patch import JSONPatch, copy_json, equal, parse_json_patch
from apiserver.machinery.patch.merge_patch import MergePatch, parse_merge_patch

__all__ = [
    "ApplyPatch",
    "JSONPatch",
    "MergePatch",
    "copy_json",
    "equal",
    "parse_apply_patch",
    "parse_json_patch",
    "parse_merge_patch",
    "result_invalid",
]


def result_invalid(patched: Any, why: str) -> APIError:
    """422 for a patch whose result is no object of its kind: kind missing, metadata of wrong types, or, with
    `fieldValidation=Strict`, strict errors (`why` is then `strict decoding error: …, …`)."""
    return invalid(
        "",
        "",
        "",
        [invalid_field(Path("patch"), orjson.dumps(patched, option=orjson.OPT_SORT_KEYS).decode(), why)],
    )
