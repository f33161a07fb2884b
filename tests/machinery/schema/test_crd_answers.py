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


STRICTER_HERE = [{"spec": {"when": []}}, {"spec": {"when": ["x"]}}]
"""kube-apiserver takes a list for a string that has a format; nobody could make sense of it."""


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
    if obj in STRICTER_HERE:
        assert (answer["code"], len(_admit(obj)[1])) == (201, 1)
        return
    unknown, causes = _admit(obj)
    assert [f'299 - "unknown field \\"{path}\\""' for path in unknown] == answer["warnings"]
    assert _sorted(causes) == _sorted(answer.get("causes", []))
    if answer["code"] == 201:
        assert obj == answer["object"]


@pytest.mark.parametrize("case", RECORDED["updates"], ids=_ids(RECORDED["updates"]))
def test_an_update_is_ratcheted_like_a_crd(case: dict[str, Any]) -> None:
    _unknown, causes = _admit(copy.deepcopy(case["object"]), case["old"])
    assert _sorted(causes) == _sorted(case["answer"].get("causes", []))


@pytest.mark.parametrize("case", RECORDED["statuses"], ids=_ids(RECORDED["statuses"]))
def test_an_update_of_status_gets_the_answer_of_a_crd(case: dict[str, Any]) -> None:
    obj = copy.deepcopy(case["object"])
    unknown = SCHEMA.prune(obj)
    SCHEMA.default(obj)
    causes = [error.cause().to_json() for error in SCHEMA.validate_status(obj, case["old"])]
    assert [f'299 - "unknown field \\"{path}\\""' for path in unknown] == case["answer"]["warnings"]
    assert _sorted(causes) == _sorted(case["answer"].get("causes", []))
    if case["answer"]["code"] == 200:
        assert obj == case["answer"]["object"]


@pytest.mark.parametrize("case", RECORDED["strict"], ids=_ids(RECORDED["strict"]))
def test_strict_field_validation_names_the_unknown_fields_in_the_order_of_a_crd(case: dict[str, Any]) -> None:
    unknown = ", ".join(f'unknown field "{path}"' for path in SCHEMA.prune(copy.deepcopy(case["object"])))
    prefix = 'Sample in version "v1" cannot be handled as a Sample: strict decoding error: '
    assert case["answer"]["message"] == prefix + unknown
