"""Our field manager gives what kube-apiserver 1.36.3 gave (recorded.json, made by record.py)."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from apiserver.machinery.errors import APIError

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from record import merged, outcome  # noqa: E402
from sequences import SEQUENCES  # noqa: E402
from server import GROUP, Server, widget_manager, widget_schemas  # noqa: E402

RECORDED = json.loads((HERE / "recorded.json").read_text())
SCHEMAS = widget_schemas()
MANAGER = widget_manager(SCHEMAS)


def ours(
    server: Server, operation: str, manager: str, content: Any, options: dict[str, Any]
) -> dict[str, Any]:
    version, subresource = options.get("v", "v1"), options.get("sub", "")
    content = copy.deepcopy(content)
    base = {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": "NAME"}}
    manager = manager or "recorder"
    try:
        if operation == "create":
            return outcome(201, server.create(merged(base, content), manager, version))
        if operation == "put":
            assert server.live is not None
            live = {**copy.deepcopy(server.live), "apiVersion": f"{GROUP}/{version}"}
            return outcome(200, server.put(merged(live, content), manager, version, subresource))
        code = 200 if server.live else 201
        force = bool(options.get("force"))
        return outcome(code, server.apply(merged(base, content), manager, version, subresource, force))
    except APIError as error:
        return outcome(error.code, error.status())


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Where upstream answers 500 for a configuration that is the client's fault, we say 400."""
    if "message" not in answer:
        return answer
    lines = answer["message"].split(": ", 1)
    code = 400 if answer["code"] == 500 else answer["code"]
    message = answer["message"]
    if message.startswith("Apply failed with") and "\n" in message:
        message = "\n".join(sorted(message.split(": ", 1)[1].split("\n")))
    return {**answer, "code": code, "message": message, "first": lines[0]}


def leaves_null(answer: dict[str, Any]) -> bool:
    """Whether upstream has put null where a map has lost its last entry, and then refused it."""
    return answer["code"] == 422 and 'must be of type object: "null"' in answer["message"]


@pytest.mark.parametrize("title", SEQUENCES)
def test_a_sequence_of_writes_has_the_same_outcome_as_on_kube_apiserver(title: str) -> None:
    server = Server(SCHEMAS, MANAGER)
    for number, ((operation, manager, content, options), expected) in enumerate(
        zip(SEQUENCES[title], RECORDED[title], strict=True)
    ):
        answer = comparable(ours(server, operation, manager, content, options))
        if leaves_null(expected):
            assert answer["code"] == 200
            return
        assert answer == comparable(expected), f"step {number}: {operation} {manager} {content} {options}"


def test_a_map_that_loses_its_last_entry_is_empty_and_not_null() -> None:
    server = Server(SCHEMAS, MANAGER)
    ours(server, "apply", "a", {"spec": {"sel": {"x": "1"}}}, {})
    ours(server, "apply", "b", {"spec": {"sel": {}}}, {})
    answer = ours(server, "apply", "a", {"spec": {}}, {})
    assert answer["spec"] == {"sel": {}, "defaulted": "dflt"}


def test_owners_in_a_version_that_is_no_more_are_forgotten_and_the_others_stay() -> None:
    server = Server(SCHEMAS, MANAGER)
    ours(server, "create", "a", {"spec": {"color": "red", "flag": True}}, {})
    entry = {"manager": "z", "operation": "Update", "fieldsType": "FieldsV1"}
    entry |= {"apiVersion": "x.example.com/v0", "fieldsV1": {"f:spec": {"f:color": {}}}}
    assert server.live is not None
    managed = [*server.live["metadata"]["managedFields"], entry]
    answer = ours(server, "put", "b", {"metadata": {"managedFields": managed}, "spec": {"size": 1}}, {})
    assert [entry["manager"] for entry in answer["managedFields"]] == ["a", "b"]
