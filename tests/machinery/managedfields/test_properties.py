"""What holds for all objects, sets and managers."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.machinery.errors import APIError
from apiserver.machinery.managedfields import default_manager
from apiserver.machinery.managedfields.compare import compare
from apiserver.machinery.managedfields.extract import all_fields, named_fields
from apiserver.machinery.managedfields.fieldset import (
    FieldSet,
    difference,
    intersection,
    ordered,
    parse_fields,
    paths,
    union,
    without_trees,
)
from apiserver.machinery.managedfields.shape import compile_shape

sys.path.insert(0, str(Path(__file__).parent))
from server import GROUP, Server, widget_manager, widget_schemas

SCHEMAS = widget_schemas()
MANAGER = widget_manager(SCHEMAS)
SHAPE = compile_shape(SCHEMAS["v1"].node)
CHECKED = settings(derandomize=True, deadline=None, max_examples=150)

words = st.sampled_from(["a", "b", "c"])
numbers = st.integers(0, 3)
variables = st.dictionaries(words, words, max_size=3).map(
    lambda pairs: [{"name": name, "value": value} for name, value in pairs.items()]
)
ports = st.dictionaries(numbers, st.dictionaries(words, words, max_size=2), max_size=3).map(
    lambda pairs: [{"port": number, "protocol": "TCP", "labels": labels} for number, labels in pairs.items()]
)
opens = st.recursive(
    words | numbers | st.booleans() | st.none(),
    lambda inner: st.dictionaries(words, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=6,
).filter(lambda value: isinstance(value, dict))
specs = st.fixed_dictionaries(
    {},
    optional={
        "color": words,
        "size": numbers,
        "flag": st.booleans(),
        "tags": st.lists(words, unique=True, max_size=3),
        "plain": st.lists(words, max_size=2),
        "env": variables,
        "ports": ports,
        "sel": st.dictionaries(words, words, max_size=3),
        "atom": st.fixed_dictionaries({}, optional={"a": words, "b": words}),
        "nested": st.fixed_dictionaries(
            {},
            optional={"a": words, "deep": st.fixed_dictionaries({}, optional={"x": numbers, "z": numbers})},
        ),
        "open": opens,
    },
)


def owned(spec: Any) -> Any:
    """Without empty lists and maps, whose owners upstream does not keep apart from those of their content."""
    inner = {key: owned(value) if isinstance(value, dict) else value for key, value in spec.items()}
    return {key: value for key, value in inner.items() if value not in ([], {})}


def widget(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": copy.deepcopy(spec),
    }


def server() -> Server:
    return Server(SCHEMAS, MANAGER)


def apply(on: Server, manager: str, spec: Any, *, force: bool = True) -> dict[str, Any]:
    return on.apply(widget(spec), manager, "v1", "", force)


def untimed(obj: dict[str, Any]) -> dict[str, Any]:
    obj = copy.deepcopy(obj)
    for entry in obj["metadata"].get("managedFields", []):
        entry.pop("time", None)
    entries = obj["metadata"].get("managedFields", [])
    entries.sort(key=lambda entry: (entry["operation"], entry["manager"]))
    return obj


@given(specs, specs)
@CHECKED
def test_applying_twice_is_applying_once(before: Any, spec: Any) -> None:
    on = server()
    on.create(widget(before), "creator", "v1")
    once = apply(on, "a", spec)
    twice = apply(on, "a", spec, force=False)
    assert once == twice


@given(specs)
@CHECKED
def test_configurations_of_two_managers_that_share_nothing_commute(spec: Any) -> None:
    spec = owned(spec)
    names = sorted(spec)
    left = {name: spec[name] for name in names[::2]}
    right = {name: spec[name] for name in names[1::2]}
    one, other = server(), server()
    apply(one, "c", {"weight": 1})
    apply(other, "c", {"weight": 1})
    apply(one, "a", left, force=False)
    apply(one, "b", right, force=False)
    apply(other, "b", right, force=False)
    apply(other, "a", left, force=False)
    assert one.live is not None
    assert other.live is not None
    assert untimed(one.live) == untimed(other.live)


@given(specs, specs)
@CHECKED
def test_giving_up_everything_leaves_what_others_applied(mine: Any, theirs: Any) -> None:
    mine, theirs = owned(mine), owned(theirs) | {"color": "b"}
    alone, together = server(), server()
    apply(alone, "b", theirs)
    apply(together, "a", {})
    apply(together, "b", theirs)
    apply(together, "a", mine)
    apply(together, "b", theirs)
    apply(together, "a", {})
    assert alone.live is not None
    assert together.live is not None
    assert sorted_lists(together.live["spec"]) == sorted_lists(alone.live["spec"])


def sorted_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_lists(item) for key, item in value.items()}
    return sorted(map(repr, value)) if isinstance(value, list) else value


@given(specs, specs)
@CHECKED
def test_forcing_over_an_update_owns_everything_that_was_applied(before: Any, spec: Any) -> None:
    on = server()
    on.create(widget(before), "creator", "v1")
    result = apply(on, "a", spec)
    entries = {entry["manager"]: entry["fieldsV1"] for entry in result["metadata"].get("managedFields", [])}
    fields = difference(
        named_fields(widget(spec), SHAPE), {"f:apiVersion": {}, "f:kind": {}, "f:metadata": {"f:name": {}}}
    )
    assert entries.get("a", {}) == ordered(fields)


@given(specs, specs)
@CHECKED
def test_the_live_object_and_the_configuration_are_never_changed(before: Any, spec: Any) -> None:
    live, patch = widget(before), widget(spec)
    MANAGER.update(None, live, manager="x", version="v1", now="2026-01-01T00:00:00Z")
    live_before, patch_before = copy.deepcopy(live), copy.deepcopy(patch)
    merged = MANAGER.apply(live, patch, manager="a", force=True, version="v1", now="2026-01-01T00:00:00Z")
    new = copy.deepcopy(merged)
    MANAGER.update(live, new, manager="y", version="v1", now="2026-01-01T00:00:00Z")
    assert (live, patch) == (live_before, patch_before)


@given(specs, specs)
@CHECKED
def test_a_comparison_says_what_changed_and_nothing_else(old: Any, new: Any) -> None:
    changes = compare({"spec": old}, {"spec": new}, SHAPE)
    back = compare({"spec": new}, {"spec": old}, SHAPE)
    assert set(paths(changes.added)) == set(paths(back.removed))
    assert set(paths(changes.modified)) == set(paths(back.modified))
    assert not intersection(changes.added, changes.removed)
    assert not (old == new and repr(old) == repr(new)) or not (changes.changed or changes.removed)


elements = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"n":"x"}', 'v:"y"'])
entries = st.recursive(
    st.just({}),
    lambda inner: (
        st.dictionaries(elements, inner, min_size=1, max_size=3)
        | st.dictionaries(elements, inner, min_size=1, max_size=3).map(lambda entry: {".": {}, **entry})
    ),
    max_leaves=8,
)
sets = st.dictionaries(elements, entries, max_size=3)


def as_paths(fields: FieldSet) -> set[str]:
    return set(paths(fields))


@given(sets, sets)
@CHECKED
def test_the_operations_on_sets_are_those_on_their_paths(left: FieldSet, right: FieldSet) -> None:
    before = copy.deepcopy((left, right))
    ours, theirs = as_paths(left), as_paths(right)
    assert as_paths(union(left, right)) == ours | theirs
    assert as_paths(difference(left, right)) == ours - theirs
    assert as_paths(intersection(left, right)) == ours & theirs
    outside = {path for path in ours if not any(_within(path, tree) for tree in theirs)}
    assert as_paths(without_trees(left, right)) == outside
    assert (left, right) == before


def _within(path: str, tree: str) -> bool:
    return path == tree or path.startswith((f"{tree}.", f"{tree}["))


@given(sets)
@CHECKED
def test_a_set_survives_being_written_and_read(fields: FieldSet) -> None:
    assert parse_fields(fields) == fields
    assert parse_fields(ordered(fields)) == fields
    assert union(fields, fields) == fields
    assert difference(fields, fields) == {}


def test_elements_are_read_into_their_canonical_form() -> None:
    raw = {'k:{ "b":1, "a":"x"}': {".": {}}, "v: 1": {}, "i:07": {}, "z:new": {}, "f:<&>": {}, 'v:"<"': {}}
    assert parse_fields(raw) == {
        'k:{"a":"x","b":1}': {".": {}},
        "v:1": {},
        "i:7": {},
        "f:<&>": {},
        'v:"\\u003c"': {},
    }


@pytest.mark.parametrize(
    "raw", [{"a": {}}, {"fa": {}}, {"k:[]": {}}, {"k:x": {}}, {"i:x": {}}, [], "x", {"f:a": 1}]
)
def test_what_is_no_set_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError):
        parse_fields(raw)


def test_paths_are_printed_as_conflicts_show_them() -> None:
    fields = {
        "f:b": {'k:{"n":"x","p":80}': {"f:v": {}}},
        "f:a": {"v:1": {}, 'v:"q"': {}, "i:10": {}, "i:9": {}},
    }
    assert list(paths(fields)) == ['.a[="q"]', ".a[=1]", ".a[9]", ".a[10]", '.b[n="x",p=80].v']


def test_new_values_are_owned_with_everything_on_the_way_but_applied_ones_by_their_leaves() -> None:
    value = {"nested": {"deep": {"x": 1}}, "sel": {"a": "b"}}
    spec = SHAPE.fields["spec"]
    assert all_fields(value, spec) == {
        ".": {},
        "f:nested": {".": {}, "f:deep": {".": {}, "f:x": {}}},
        "f:sel": {".": {}, "f:a": {}},
    }
    assert named_fields(value, spec) == {"f:nested": {"f:deep": {"f:x": {}}}, "f:sel": {"f:a": {}}}


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("kubectl/v1.36.3 (linux/amd64)", "kubectl"),
        ("", ""),
        ("a\x00b\tc/x", "abc"),
        ("x" * 200, "x" * 128),
        ("ü" * 100, "ü" * 64),
        ("my agent/1", "my agent"),
    ],
)
def test_the_default_manager_comes_from_the_user_agent(user_agent: str, name: str) -> None:
    assert default_manager(user_agent) == name


def test_an_object_that_breaks_its_schema_loses_its_owners_and_is_left_to_validation() -> None:
    live, new = widget({"sel": {"a": "b"}}), widget({"sel": "x"})
    MANAGER.update(None, live, manager="x", version="v1", now="2026-01-01T00:00:00Z")
    live["metadata"]["uid"] = "u"
    MANAGER.update(live, new, manager="x", version="v1", now="2026-01-01T00:00:01Z")
    assert "managedFields" not in new["metadata"]


def test_a_patch_of_another_kind_is_refused() -> None:
    with pytest.raises(APIError) as caught:
        MANAGER.apply(None, {"kind": 5, "apiVersion": []}, manager="a", force=False, version="v1", now="")
    assert caught.value.code == 400


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | words,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(words | st.sampled_from(["name", "port"]), inner)
    ),
    max_leaves=8,
)
field_names = st.sampled_from(
    ["color", "size", "tags", "plain", "env", "ports", "sel", "atom", "nested", "open"]
)
anything = st.dictionaries(field_names, json_values, max_size=4)


@given(specs, anything, json_values)
@CHECKED
def test_nothing_that_a_client_sends_makes_it_fail(before: Any, spec: Any, entry: Any) -> None:
    live = widget(before)
    MANAGER.update(None, live, manager="x", version="v1", now="2026-01-01T00:00:00Z")
    live["metadata"]["uid"] = "u"
    new = widget(spec)
    owned_by = {"manager": "m", "operation": "Update", "apiVersion": f"{GROUP}/v1", "fieldsType": "FieldsV1"}
    new["metadata"]["managedFields"] = [{**owned_by, "fieldsV1": entry}]
    MANAGER.update(live, new, manager="y", version="v1", now="2026-01-01T00:00:01Z")
    try:
        MANAGER.apply(live, widget(spec), manager="z", force=False, version="v1", now="2026-01-01T00:00:02Z")
    except APIError as error:
        code = error.code
        assert code in (400, 409)


@pytest.mark.parametrize("metadata", ["x", 1, [], True, None])
def test_metadata_that_is_no_object_is_refused(metadata: Any) -> None:
    patch = {**widget({}), "metadata": metadata}
    if metadata is None:
        MANAGER.apply(None, patch, manager="a", force=False, version="v1", now="")
        return
    with pytest.raises(APIError) as caught:
        MANAGER.apply(None, patch, manager="a", force=False, version="v1", now="")
    assert ".metadata: expected map" in caught.value.message


def test_long_lists_merge_in_linear_time() -> None:
    many = [{"name": f"n{number}", "value": "x"} for number in range(20_000)]
    live = widget({"env": many})
    merged = MANAGER.apply(
        live, widget({"env": many[::-1]}), manager="a", force=True, version="v1", now="2026-01-01T00:00:00Z"
    )
    assert merged["spec"]["env"] == many[::-1]
