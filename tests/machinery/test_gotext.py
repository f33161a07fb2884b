"""Values are printed as Go prints them. Go itself printed gotext_answers.json: JSON, as shown, as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.machinery import gotext

ANSWERS = json.loads(Path(__file__).with_name("gotext_answers.json").read_text())


@pytest.mark.parametrize(("text", "shown", "encoded"), ANSWERS, ids=[answer[0] for answer in ANSWERS])
def test_a_value_is_printed_as_go_prints_it(text: str, shown: str, encoded: str) -> None:
    value = json.loads(text)
    assert gotext.show(value) == shown
    assert gotext.to_json(value) == encoded


@settings(max_examples=200, derandomize=True)
@given(
    st.recursive(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(-1e6, 1e6),
            st.text(),
        ),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    )
)
def test_what_is_written_as_json_is_read_back_as_the_same_value(value: object) -> None:
    assert json.loads(gotext.to_json(value)) == value
