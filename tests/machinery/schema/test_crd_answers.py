"""Objects get the same answers as from a kube-apiserver with a CRD of the same schema.

`crd_answers.json` was recorded by record_crd_answers.py; nothing here needs a control plane.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from apiserver.machinery.schema import Schema

RECORDED = json.loads(Path(__file__).with_name("crd_answers.json").read_text())
SCHEMA = Schema.from_openapi(RECORDED["schema"])


def _ids(cases: list[dict[str, Any]]) -> list[str]:
    return [f"{position}-{json.dumps(case['object'])[:60]}" for position, case in enumerate(cases)]


def _admit(obj: dict[str, Any], old: dict[str, Any] | None = None) -> tuple[list[str], list[dict[str, str]]]:
    """What the server does with an object: defaults, pruning, then validation (on create, without status)."""
    unknown = SCHEMA.prune(obj)
    SCHEMA.default(obj)
    if old is None:
        obj.pop("status", None)
    return unknown, [error.cause().to_json() for error in SCHEMA.validate(obj, old)]


def _sorted(causes: list[dict[str, str]]) -> list[dict[str, str]]:
    """Causes by field: kube-apiserver tells the fields of an object in random order."""
    return sorted(causes, key=lambda cause: (cause["field"], cause["message"]))


@pytest.mark.parametrize("case", RECORDED["creates"], ids=_ids(RECORDED["creates"]))
def test_a_new_object_gets_the_answer_of_a_crd(case: dict[str, Any]) -> None:
    obj, answer = copy.deepcopy(case["object"]), case["answer"]
    unknown, causes = _admit(obj)
    assert [f'299 - "unknown field \\"{path}\\""' for path in unknown] == answer["warnings"]
    assert _sorted(causes) == _sorted(answer.get("causes", []))
    if answer["code"] == 201:
        assert obj == answer["object"]


@pytest.mark.parametrize("case", RECORDED["updates"], ids=_ids(RECORDED["updates"]))
def test_an_update_is_ratcheted_like_a_crd(case: dict[str, Any]) -> None:
    _unknown, causes = _admit(copy.deepcopy(case["object"]), case["old"])
    assert _sorted(causes) == _sorted(case["answer"].get("causes", []))
