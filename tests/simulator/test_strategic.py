"""Strategic merge patches: what kubectl sends, and what comes of it."""

from __future__ import annotations

import pytest

from apiserver.machinery.patch import parse_merge_patch
from apiserver.simulator.strategic import as_merge_patch

TAINT = {"key": "a", "effect": "NoSchedule"}


def patched(live, patch):
    import orjson

    return parse_merge_patch(orjson.dumps(as_merge_patch(live, patch))).apply(live)


@pytest.mark.parametrize(
    ("live", "patch", "result"),
    [
        ({"a": 1, "b": 2}, {"a": None, "c": 3}, {"b": 2, "c": 3}),
        ({"spec": {"x": 1}}, {"spec": {"unschedulable": True}}, {"spec": {"x": 1, "unschedulable": True}}),
        ({"spec": {"taints": [TAINT]}}, {"spec": {"taints": None}}, {"spec": {}}),
        ({"spec": {"taints": [TAINT]}}, {"spec": {"taints": []}}, {"spec": {"taints": []}}),
        ({"spec": {"x": 1, "y": 2}}, {"spec": {"$patch": "replace", "z": 3}}, {"spec": {"z": 3}}),
        ({"spec": {"x": 1, "y": 2}}, {"spec": {"$patch": "delete"}}, {"spec": {}}),
        ({"spec": {"x": 1, "y": 2}}, {"spec": {"$retainKeys": ["y"], "y": 3}}, {"spec": {"y": 3}}),
    ],
)
def test_objects_merge_and_plain_lists_are_replaced(live, patch, result):
    assert patched(live, patch) == result


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        ([{"name": "b", "image": "2"}], [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]),
        ([{"name": "a", "image": "2"}], [{"name": "a", "image": "2"}]),
        ([{"name": "a", "tty": True}], [{"name": "a", "image": "1", "tty": True}]),
        ([{"name": "a", "image": None}], [{"name": "a"}]),
        ([{"name": "a", "$patch": "delete"}], []),
        ([{"$patch": "replace"}, {"name": "z"}], [{"name": "z"}]),
    ],
)
def test_lists_with_a_merge_key_merge_item_by_item(changes, result):
    assert patched({"containers": [{"name": "a", "image": "1"}]}, {"containers": changes}) == {
        "containers": result
    }


def test_lists_within_items_merge_too():
    live = {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}]}
    patch = {"containers": [{"name": "a", "env": [{"name": "X", "$patch": "delete"}]}]}
    assert patched(live, patch) == {"containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}]}]}


def test_the_order_is_the_patchs_where_it_gives_one():
    live = {"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}
    patch = {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}
    assert [item["name"] for item in patched(live, patch)["containers"]] == ["c", "a", "b"]


def test_finalizers_are_added_and_taken_away_one_by_one():
    live = {"metadata": {"finalizers": ["x", "y"]}}
    patch = {"metadata": {"finalizers": ["z"], "$deleteFromPrimitiveList/finalizers": ["x"]}}
    assert patched(live, patch) == {"metadata": {"finalizers": ["y", "z"]}}


@pytest.mark.parametrize("patch", [{"$patch": "explode"}, {"containers": [{"image": "x"}]}])
def test_nonsense_is_no_patch(patch):
    with pytest.raises(ValueError, match=r"directive|merge key"):
        as_merge_patch({"containers": [{"name": "a"}]}, patch)
