"""The outcomes were recorded from kube-apiserver 1.36.3 with a CRD."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.machinery.errors import APIError
from apiserver.machinery.patch import (
    copy_json,
    equal,
    parse_apply_patch,
    parse_json_patch,
    parse_merge_patch,
    result_invalid,
)
from apiserver.machinery.patch.json_patch import MAX_COPIED_BYTES

REJECTED = "the server rejected our request due to an error in our request"
LIVE = {"kind": "W", "spec": {"color": "red", "size": 1, "plain": ["a", "b"], "nul": None}}


def patched(*operations: dict[str, Any]) -> Any:
    return parse_json_patch(json.dumps(operations).encode()).apply(LIVE)["spec"]


@pytest.mark.parametrize(
    ("operation", "spec"),
    [
        ({"op": "test", "path": "/spec/color", "value": "red"}, {}),
        ({"op": "test", "path": "/spec/nope", "value": None}, {}),
        ({"op": "test", "path": "/spec/nope"}, {}),
        ({"op": "test", "path": "/spec/nul"}, {}),
        ({"op": "test", "path": "", "value": LIVE}, {}),
        ({"op": "replace", "path": "/spec/nope", "value": 1}, {"nope": 1}),
        ({"op": "replace", "path": "/spec/plain/-1", "value": "z"}, {"plain": ["a", "z"]}),
        ({"op": "add", "path": "/spec/plain/-1", "value": "z"}, {"plain": ["a", "b", "z"]}),
        ({"op": "add", "path": "/spec/plain/-2", "value": "z"}, {"plain": ["a", "z", "b"]}),
        ({"op": "add", "path": "/spec/plain/-", "value": "z"}, {"plain": ["a", "b", "z"]}),
        ({"op": "add", "path": "/spec/plain/2", "value": "z"}, {"plain": ["a", "b", "z"]}),
        ({"op": "remove", "path": "/spec/plain/-2"}, {"plain": ["b"]}),
        ({"op": "add", "path": "/spec/color"}, {"color": None}),
        ({"op": "add", "path": "/spec/a~1b~0c", "value": 1}, {"a/b~c": 1}),
        ({"op": "copy", "from": "/spec/nope", "path": "/spec/x"}, {"x": None}),
        ({"op": "copy", "from": "/spec/plain", "path": "/spec/x"}, {"x": ["a", "b"]}),
        ({"op": "move", "from": "/spec/plain/0", "path": "/spec/x"}, {"plain": ["b"], "x": "a"}),
    ],
)
def test_an_operation_that_applies(operation: dict[str, Any], spec: dict[str, Any]) -> None:
    before = copy.deepcopy(LIVE)
    assert patched(operation) == {**LIVE["spec"], **spec}  # type: ignore[dict-item]
    assert before == LIVE


@pytest.mark.parametrize(
    ("operation", "cause"),
    [
        (
            {"op": "test", "path": "/spec/color", "value": "blue"},
            "testing value /spec/color failed: test failed",
        ),
        ({"op": "test", "path": "/spec/color"}, "testing value /spec/color failed: test failed"),
        ({"op": "test", "path": "/spec/nope", "value": 1}, "testing value /spec/nope failed: test failed"),
        ({"op": "test", "path": "/nope/a", "value": 1}, "test operation does not apply"),
        ({"op": "replace", "path": "/spec/nope/x", "value": 1}, "replace operation does not apply"),
        ({"op": "remove", "path": "/spec/nope"}, "Unable to remove nonexistent key: nope: missing value"),
        ({"op": "add", "path": "/spec/new/0", "value": 1}, "add operation does not apply"),
        ({"op": "add", "path": "/spec/plain/5", "value": 1}, "Unable to access invalid index: 5"),
        ({"op": "add", "path": "/spec/plain/-4", "value": 1}, "Unable to access invalid index: -4"),
        ({"op": "add", "path": "/spec/plain/x", "value": 1}, "value was not a proper array index: 'x'"),
        ({"op": "add", "path": "/spec/plain/1_0", "value": 1}, "value was not a proper array index: '1_0'"),
        ({"op": "replace", "path": "/spec/plain/x", "value": 1}, "doc is missing key: /spec/plain/x"),
        ({"op": "remove", "path": "/spec/plain/4"}, "Unable to access invalid index: 4"),
        ({"op": "move", "from": "/spec/nope", "path": "/spec/x"}, "Unable to remove nonexistent key: nope"),
        ({"op": "move", "from": "/spec", "path": "/spec/x"}, "move operation does not apply"),
        ({"op": "copy", "from": "/nope/x", "path": "/spec/x"}, "copy operation does not apply"),
        ({"op": "copy", "path": "/spec/x"}, "copy operation failed to decode from"),
        ({"op": "add", "value": 1}, "add operation failed to decode path"),
        ({"op": "foo", "path": "/spec"}, "Unexpected kind: foo"),
        ({"path": "/spec"}, "Unexpected kind: unknown"),
        ({"op": "add", "path": "", "value": 1}, "add operation does not apply"),
        ({"op": "add", "path": "spec", "value": 1}, "add operation does not apply"),
        ({"op": "replace", "path": "", "value": 1}, "replace operation value must be object or array"),
    ],
)
def test_an_operation_that_does_not_apply_is_422_with_the_reason_as_a_cause(
    operation: dict[str, Any], cause: str
) -> None:
    with pytest.raises(APIError) as caught:
        patched(operation)
    error = caught.value
    assert (error.code, error.reason, error.message) == (422, "Invalid", REJECTED)
    assert cause in error.causes[0].message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"op":"a"}', "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (b"[1]", "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (b"[", "unexpected end of JSON input"),
        (b"", "unexpected end of JSON input"),
        (b'[{"op":1}]', "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        (
            b'[{"path":[]}]',
            "json: cannot unmarshal array into Go struct field jsonPatchOp.path of type string",
        ),
    ],
)
def test_a_malformed_json_patch_is_400(body: bytes, message: str) -> None:
    with pytest.raises(APIError) as caught:
        parse_json_patch(body)
    assert (caught.value.code, caught.value.message) == (400, f"error decoding patch: {message}")


def test_a_null_json_patch_changes_nothing() -> None:
    assert parse_json_patch(b"null").apply(LIVE) == LIVE


def test_strict_errors_of_a_json_patch_name_the_operation() -> None:
    patch = parse_json_patch(b'[{"op":"test","path":"/kind","value":"W","foo":1,"op":"test"}]')
    assert patch.strict_errors == [
        'json patch duplicate field "[0].op"',
        'json patch unknown field "[0].foo"',
    ]


def test_too_many_operations_are_413() -> None:
    one = '{"op":"test","path":"/kind","value":"W"}'
    with pytest.raises(APIError) as caught:
        parse_json_patch(f"[{','.join([one] * 10_001)}]".encode())
    assert caught.value.code == 413
    assert caught.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_cannot_blow_the_document_up() -> None:
    document = {"a": ["x" * (MAX_COPIED_BYTES // 8)]}
    patch = parse_json_patch(json.dumps([{"op": "copy", "from": "/a/0", "path": "/a/-"}] * 9).encode())
    with pytest.raises(APIError) as caught:
        patch.apply(document)
    assert caught.value.code == 422
    assert "accumulated size increase" in caught.value.causes[0].message


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": 1}, {"a": {"b": None, "c": [{"d": None}]}}, {"a": {"c": [{}]}}),
        ({}, {"a": [{"d": None}, None]}, {"a": [{}, None]}),
        ({"a": {"x": 1}}, {"a": [{"d": None}]}, {"a": [{"d": None}]}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": None}, {"a": {"b": None}}, {"a": {}}),
        ([], {"a": None, "b": 1}, {"b": 1}),
    ],
)
def test_a_merge_patch_merges(document: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy(document)
    assert parse_merge_patch(json.dumps(patch).encode()).apply(document) == result
    assert before == document


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"null", "Invalid JSON Patch"),
        (
            b"[1]",
            "error decoding patch: "
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (b"{", "error decoding patch: unexpected end of JSON input"),
    ],
)
def test_a_malformed_merge_patch_is_400(body: bytes, message: str) -> None:
    with pytest.raises(APIError) as caught:
        parse_merge_patch(body)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_a_result_that_is_no_object_of_its_kind_is_422() -> None:
    error = result_invalid({}, "Object 'Kind' is missing in '{}'")
    assert error.message == " \"\" is invalid: patch: Invalid value: \"{}\": Object 'Kind' is missing in '{}'"
    assert error.status()["details"] == {
        "causes": [
            {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: \"{}\": Object 'Kind' is missing in '{}'",
                "field": "patch",
            }
        ]
    }


UNMARSHALING = "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "error converting YAML to JSON: yaml: line 1: did not find expected node content"),
        (b"a: b: c", "error converting YAML to JSON: yaml: mapping values are not allowed in this context"),
        (b"[]", UNMARSHALING + "array into Go value of type map[string]interface {}"),
        (b'"x"', UNMARSHALING + "string into Go value of type map[string]interface {}"),
    ],
)
def test_a_malformed_configuration_is_400(body: bytes, message: str) -> None:
    with pytest.raises(APIError) as caught:
        parse_apply_patch(body)
    assert (caught.value.code, caught.value.message) == (400, f"error decoding YAML: {message}")


@pytest.mark.parametrize("body", [b"", b"null", b"{}"])
def test_an_empty_configuration_is_an_empty_object(body: bytes) -> None:
    assert parse_apply_patch(body).value == {}


def test_duplicate_keys_of_a_configuration_are_one_strict_error() -> None:
    patch = parse_apply_patch(b"kind: W\nspec:\n  color: a\n  color: b\n")
    assert patch.value == {"kind": "W", "spec": {"color": "b"}}
    assert patch.strictly().message == (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 4: key "color" already set in map'
    )


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from("abc")
keys = st.sampled_from(["a", "b", "a/b", "~"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)
documents = st.dictionaries(keys, values, max_size=4)
pointers = st.lists(keys | st.sampled_from(["0", "1", "-1", "-"]), max_size=3).map(
    lambda parts: "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)
)
steps = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": pointers},
    optional={"from": pointers, "value": values},
)


@given(documents, st.lists(steps, max_size=4))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_json_patch_never_touches_or_shares_the_document(document: Any, operations: Any) -> None:
    before = copy.deepcopy(document)
    patch = parse_json_patch(json.dumps(operations).encode())
    try:
        result = patch.apply(document)
    except APIError as error:
        result, code = None, error.code
        assert code == 422
    _spoil(result)
    assert document == before


def _spoil(value: Any) -> None:
    for item in list(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()):
        _spoil(item)
    if isinstance(value, dict | list):
        value.clear()


@given(documents, documents)
@settings(derandomize=True, deadline=None)
def test_a_merge_patch_is_idempotent_and_never_shares(document: Any, value: Any) -> None:
    before = copy.deepcopy(document)
    patch = parse_merge_patch(json.dumps(value).encode())
    once = patch.apply(document)
    twice = patch.apply(once)
    assert equal(once, twice) or "null" in json.dumps(value)
    _spoil(once)
    _spoil(twice)
    assert document == before
    assert copy_json(patch.value) == value
