"""The texts were recorded from kube-apiserver 1.36.3 with a CRD."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.machinery.field import Path
from apiserver.machinery.objectmeta import (
    canonical_time,
    coerce,
    finalizer_warnings,
    generate_name,
    validate_create,
    validate_manager,
    validate_update,
)

KEY_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NAME_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LAYOUT = '"2006-01-02T15:04:05Z07:00"'
FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("x", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        ([], "json: cannot unmarshal array into Go value of type v1.ObjectMeta"),
        (1, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        ({"name": 1}, FIELD.format("number", "ObjectMeta.name", "string")),
        ({"uid": 1}, FIELD.format("number", "ObjectMeta.uid", "types.UID")),
        ({"generation": 1.5}, FIELD.format("number 1.5", "ObjectMeta.generation", "int64")),
        ({"generation": "a"}, FIELD.format("string", "ObjectMeta.generation", "int64")),
        ({"generation": True}, FIELD.format("bool", "ObjectMeta.generation", "int64")),
        ({"creationTimestamp": 1}, FIELD.format("number", "ObjectMeta.creationTimestamp", "string")),
        ({"creationTimestamp": "x"}, f'parsing time "x" as {LAYOUT}: cannot parse "x" as "2006"'),
        ({"creationTimestamp": ""}, f'parsing time "" as {LAYOUT}: cannot parse "" as "2006"'),
        ({"deletionTimestamp": {}}, FIELD.format("object", "ObjectMeta.deletionTimestamp", "string")),
        (
            {"deletionGracePeriodSeconds": "a"},
            FIELD.format("string", "ObjectMeta.deletionGracePeriodSeconds", "int64"),
        ),
        ({"labels": "a"}, FIELD.format("string", "ObjectMeta.labels", "map[string]string")),
        ({"labels": {"a": None, "b": {}}}, FIELD.format("object", "ObjectMeta.labels", "string")),
        ({"labels": {"a": 1}}, FIELD.format("number", "ObjectMeta.labels", "string")),
        ({"annotations": []}, FIELD.format("array", "ObjectMeta.annotations", "map[string]string")),
        ({"finalizers": "a"}, FIELD.format("string", "ObjectMeta.finalizers", "[]string")),
        ({"finalizers": [1]}, FIELD.format("number", "ObjectMeta.finalizers", "string")),
        (
            {"ownerReferences": {}},
            FIELD.format("object", "ObjectMeta.ownerReferences", "[]v1.OwnerReference"),
        ),
        (
            {"ownerReferences": ["a"]},
            FIELD.format("string", "ObjectMeta.ownerReferences", "v1.OwnerReference"),
        ),
        (
            {"ownerReferences": [{"uid": 1, "controller": "x"}]},
            FIELD.format("string", "OwnerReference.ownerReferences.controller", "bool"),
        ),
        (
            {"managedFields": {}},
            FIELD.format("object", "ObjectMeta.managedFields", "[]v1.ManagedFieldsEntry"),
        ),
        (
            {"managedFields": [1]},
            FIELD.format("number", "ObjectMeta.managedFields", "v1.ManagedFieldsEntry"),
        ),
        (
            {"managedFields": [{"operation": 1}]},
            FIELD.format(
                "number", "ManagedFieldsEntry.managedFields.operation", "v1.ManagedFieldsOperationType"
            ),
        ),
        (
            {"managedFields": [{"time": "x"}]},
            f'parsing time "x" as {LAYOUT}: cannot parse "x" as "2006"',
        ),
        (
            {"labels": 1, "managedFields": [{"time": "x"}], "name": 1},
            f'parsing time "x" as {LAYOUT}: cannot parse "x" as "2006"',
        ),
    ],
)
def test_metadata_of_the_wrong_type_is_refused_in_the_words_of_go(metadata: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        coerce({"metadata": metadata})
    assert str(caught.value) == message


def test_unknown_fields_of_metadata_are_dropped_and_named_in_order() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"}
    obj = {
        "metadata": {
            "name": "x",
            "ownerReferences": [{**owner, "foo": 1}, {"bar": 2, "baz": 1}],
            "foo": 1,
            "clusterName": "x",
            "Name": "y",
        }
    }
    assert coerce(obj) == [
        "metadata.Name",
        "metadata.clusterName",
        "metadata.foo",
        "metadata.ownerReferences[0].foo",
        "metadata.ownerReferences[1].bar",
        "metadata.ownerReferences[1].baz",
    ]
    assert obj == {
        "metadata": {
            "name": "x",
            "ownerReferences": [owner, {"apiVersion": "", "kind": "", "name": "", "uid": ""}],
        }
    }


def test_empty_values_are_left_out_and_times_are_in_utc() -> None:
    obj: dict[str, Any] = {
        "metadata": {
            "name": "x",
            "namespace": "",
            "generation": 0,
            "labels": {},
            "annotations": None,
            "finalizers": [None],
            "managedFields": [{}],
            "ownerReferences": [],
            "deletionGracePeriodSeconds": 0,
            "creationTimestamp": "2020-01-01T00:00:00.5+01:00",
        }
    }
    assert coerce(obj) == []
    assert obj["metadata"] == {
        "name": "x",
        "finalizers": [""],
        "managedFields": [{}],
        "deletionGracePeriodSeconds": 0,
        "creationTimestamp": "2019-12-31T23:00:00Z",
    }


@pytest.mark.parametrize(("obj", "after"), [({"metadata": None}, {"metadata": {}}), ({}, {})])
def test_missing_metadata_is_no_error_here(obj: dict[str, Any], after: dict[str, Any]) -> None:
    assert coerce(obj) == []
    assert obj == after


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("2020-02-29T23:59:59Z", "2020-02-29T23:59:59Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00,123456789Z", "2020-01-01T00:00:00Z"),
        ("2020-13-01T00:00:00Z", 'parsing time "2020-13-01T00:00:00Z": month out of range'),
        ("2020-02-30T00:00:00Z", 'parsing time "2020-02-30T00:00:00Z": day out of range'),
        ("2020-01-01T25:00:00Z", 'parsing time "2020-01-01T25:00:00Z": hour out of range'),
        ("2020-01-01T00:00:00Zz", 'parsing time "2020-01-01T00:00:00Zz": extra text: "z"'),
        ("2020-01-01", f'parsing time "2020-01-01" as {LAYOUT}: cannot parse "" as "T"'),
        (
            "2020-01-01T00:00:00",
            f'parsing time "2020-01-01T00:00:00" as {LAYOUT}: cannot parse "" as "Z07:00"',
        ),
    ],
)
def test_times_are_read_as_go_reads_them(text: str, outcome: str) -> None:
    try:
        found = canonical_time(text)
    except ValueError as error:
        found = str(error)
    assert found == outcome


def texts(metadata: dict[str, Any], *, namespaced: bool = True) -> list[str]:
    base = {"namespace": "ns"} if namespaced else {}
    return [str(error) for error in validate_create({**base, **metadata}, namespaced=namespaced)]


@pytest.mark.parametrize(
    ("metadata", "errors"),
    [
        ({"name": "a.b-c"}, []),
        ({}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "X_"}, [f'metadata.name: Invalid value: "X_": {NAME_TEXT}']),
        (
            {"name": "x" * 254},
            [f'metadata.name: Invalid value: "{"x" * 254}": must be no more than 253 characters'],
        ),
        ({"name": "a-b", "generateName": "a-"}, []),
        ({"name": "x", "generateName": "__"}, [f'metadata.generateName: Invalid value: "__": {NAME_TEXT}']),
        ({"name": "x", "namespace": ""}, ["metadata.namespace: Required value"]),
        (
            {"name": "x", "namespace": "a.b"},
            ['metadata.namespace: Invalid value: "a.b": must not contain dots'],
        ),
        (
            {"name": "x", "labels": {"a b": "c d", "-": "-"}},
            [
                f'metadata.labels: Invalid value: "a b": name part {KEY_TEXT}',
                f'metadata.labels: Invalid value: "c d": {VALUE_TEXT}',
                f'metadata.labels: Invalid value: "-": name part {KEY_TEXT}',
                f'metadata.labels: Invalid value: "-": {VALUE_TEXT}',
            ],
        ),
        (
            {"name": "x", "annotations": {"a b": "c d", "A.b/C": "x", "": "y"}},
            [
                f'metadata.annotations: Invalid value: "a b": name part {KEY_TEXT}',
                'metadata.annotations: Invalid value: "": name part must be non-empty',
                f'metadata.annotations: Invalid value: "": name part {KEY_TEXT}',
            ],
        ),
        ({"name": "x", "annotations": {"a": "x" * 262_143}}, []),
        (
            {"name": "x", "annotations": {"a": "x" * 262_144}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
        ),
        (
            {"name": "x", "finalizers": ["a", "b/c/d", "foregroundDeletion", "orphan"]},
            [
                f'metadata.finalizers: Invalid value: "b/c/d": a valid label key {KEY_TEXT} with an optional '
                "DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                'metadata.finalizers: Invalid value: ["a","b/c/d","foregroundDeletion","orphan"]: '
                "finalizer orphan and foregroundDeletion cannot be both set",
            ],
        ),
        (
            {"name": "x", "ownerReferences": [{"apiVersion": "", "kind": "", "name": "a", "uid": ""}]},
            [
                'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
                'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
                'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"name": "x", "generation": -1},
            ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"name": "x", "managedFields": [{"operation": "Nope", "fieldsType": "V9", "manager": "a\tb"}]},
            [
                'metadata.managedFields[0].operation: Invalid value: "Nope": must be `Apply` or `Update`',
                'metadata.managedFields[0].fieldsType: Invalid value: "V9": must be `FieldsV1`',
                'metadata.managedFields[0].manager: Invalid value: "a\\tb": '
                "invalid character U+0009 (at position 1)",
            ],
        ),
    ],
)
def test_metadata_is_judged_in_the_words_of_kube_apiserver(
    metadata: dict[str, Any], errors: list[str]
) -> None:
    assert texts(metadata) == errors


def test_a_namespace_is_not_allowed_where_there_is_none() -> None:
    assert texts({"name": "x", "namespace": "y"}, namespaced=False) == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


def test_there_is_one_controller_and_events_own_nothing() -> None:
    references = [
        {"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "u", "controller": True},
        {"apiVersion": "apps/v1", "kind": "B", "name": "b", "uid": "u2", "controller": True},
    ]
    event, controllers = texts({"name": "x", "ownerReferences": references})
    assert event.endswith(": /v1, Kind=Event is disallowed from being an owner")
    assert controllers.endswith(
        ': Only one reference can have Controller set to true. Found "true" in references for Event/a and B/b'
    )


OLD = {
    "name": "x",
    "namespace": "ns",
    "uid": "u",
    "resourceVersion": "1",
    "generation": 3,
    "creationTimestamp": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        ({}, []),
        ({"labels": {"a": "b"}, "finalizers": ["a/b"]}, []),
        ({"uid": "v"}, ['metadata.uid: Invalid value: "v": field is immutable']),
        ({"name": "y"}, ['metadata.name: Invalid value: "y": field is immutable']),
        (
            {"deletionGracePeriodSeconds": 5},
            ["metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable"],
        ),
        ({"generation": 2}, ["metadata.generation: Invalid value: 2: must not be decremented"]),
        (
            {"resourceVersion": ""},
            ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
        ),
    ],
)
def test_what_may_not_change_is_refused(change: dict[str, Any], errors: list[str]) -> None:
    assert [str(error) for error in validate_update({**OLD, **change}, OLD)] == errors


def test_a_deleted_object_gets_no_new_finalizers() -> None:
    old = {**OLD, "deletionTimestamp": "2026-01-01T00:00:01Z", "finalizers": ["a/b", "c/d"]}
    assert validate_update({**old, "finalizers": ["c/d"]}, old) == []
    errors = validate_update({**old, "finalizers": ["c/d", "z", "e/f"]}, old)
    assert [str(error) for error in errors] == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"e/f", "z"}'
    ]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("example.com/a", None),
        ("orphan", None),
        ("kubernetes", None),
        ("a", "prefer a domain-qualified finalizer name to avoid accidental conflicts"),
        (
            "a.b",
            "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts",
        ),
    ],
)
def test_finalizers_without_a_domain_are_advised_against(name: str, advice: str | None) -> None:
    warnings = finalizer_warnings(name)
    expected = f'metadata.finalizers: "{name}": {advice} with other finalizer writers'
    assert warnings == ([expected] if advice else [])


def test_managers_have_at_most_128_printable_bytes() -> None:
    path = Path("fieldManager")
    assert validate_manager("ü" * 64, path) == []
    assert [str(error) for error in validate_manager("x" * 129, path)] == [
        "fieldManager: Too long: may not be more than 128 bytes"
    ]


@given(st.text(alphabet="ab-.", max_size=80))
@settings(derandomize=True, deadline=None)
def test_a_generated_name_has_the_base_and_five_safe_characters(base: str) -> None:
    name = generate_name(base)
    assert name[:-5] == base[:58]
    assert set(name[-5:]) <= set("bcdfghjklmnpqrstvwxz2456789")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    [
        "name",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "creationTimestamp",
        "zzz",
    ]
)


@given(st.dictionaries(names, json_values, max_size=5))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_metadata_is_refused_or_coerced_into_a_form_that_stays(metadata: dict[str, Any]) -> None:
    obj = {"metadata": copy.deepcopy(metadata)}
    try:
        coerce(obj)
    except ValueError as error:
        assert str(error)  # noqa: PT017
        return
    once = json.dumps(obj)
    assert coerce(obj) == []
    assert json.dumps(obj) == once
    validate_create(obj["metadata"])
    validate_update(obj["metadata"], obj["metadata"])
