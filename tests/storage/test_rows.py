"""Rows in chunks behave like a sorted list."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage import rows as rows_module
from storage.cache import Entry
from storage.rows import Rows

KEYS = st.integers(0, 40).map(lambda number: b"%02d" % number)


def entry(key: bytes, revision: int = 1) -> Entry[None]:
    return Entry(key, b"", revision, 1, None)


@settings(derandomize=True, max_examples=300)
@given(
    st.lists(KEYS, unique=True),
    st.lists(st.tuples(KEYS, st.booleans())),
    st.lists(st.tuples(KEYS, KEYS), max_size=5),
)
def test_they_behave_like_a_sorted_list(
    first: list[bytes], changes: list[tuple[bytes, bool]], ranges: list[tuple[bytes, bytes]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "CHUNK", 3)
        model = {key: entry(key) for key in sorted(first)}
        rows = Rows(list(model.values()))
        for revision, (key, present) in enumerate(changes, 2):
            if present:
                model[key] = entry(key, revision)
                rows.put(model[key])
            elif model.pop(key, None) is not None:
                rows.remove(key)
        for start, end in [*ranges, (b"", b"z")]:
            expected = [model[key] for key in sorted(model) if start <= key < end]
            assert rows.between(start, end) == expected
            assert rows.count(start, end) == len(expected)


def test_an_insertion_costs_about_the_same_with_many_rows() -> None:
    def cost(size: int) -> float:
        rows = Rows([entry(b"%08d" % number) for number in range(size)])
        new = [entry(b"%08d+" % (number * size // 2000)) for number in range(2000)]
        before = time.process_time()
        for each in new:
            rows.put(each)
        return time.process_time() - before

    few, many = min(cost(100) for _ in range(3)), min(cost(100_000) for _ in range(3))
    assert many < 5 * few
