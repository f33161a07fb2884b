"""Quantities read, count and print as in Kubernetes. apimachinery itself printed quantity_answers.txt."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.machinery.quantity import Quantity, QuantityError

_LINES = Path(__file__).with_name("quantity_answers.txt").read_text().splitlines()
ANSWERS = [line.split(" | ") for line in _LINES if not line.startswith("#")]
REFERENCE = Quantity.parse("1500m")

_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_NUMBERS = st.from_regex(r"[+-]?[0-9]{1,12}(\.[0-9]{0,9})?", fullmatch=True)
TEXTS = st.tuples(_NUMBERS, st.sampled_from([*_SUFFIXES, "Ki", "Mi", "Gi", "e3", "E-3"])).map("".join)
QUANTITIES = TEXTS.map(Quantity.parse)


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer[0] for answer in ANSWERS])
def test_a_text_means_what_it_means_to_kubernetes(answer: list[str]) -> None:
    text, canonical, *rest = answer
    if canonical == "error":
        with pytest.raises(QuantityError) as raised:
            Quantity.parse(text)
        assert str(raised.value) == rest[0]
        return
    quantity = Quantity.parse(text)
    total, value, order = rest
    assert str(quantity) == canonical
    assert str(quantity + REFERENCE) == total
    assert (quantity > REFERENCE) - (quantity < REFERENCE) == int(order)
    if value != "-":
        assert quantity.value() == int(value)


@pytest.mark.parametrize(
    ("number", "text"), [(2, "2"), (1.5, "1500m"), (0, "0"), (1e-7, "100e-9"), (True, None), (10**30, None)]
)
def test_json_numbers_are_quantities_too(number: float, text: str | None) -> None:
    if text is None:
        assert number is True or str(Quantity.parse(number)) == "1000000000000E"
    else:
        assert str(Quantity.parse(number)) == text


@pytest.mark.parametrize(
    "text", ["", "1" * 257, "1e257", "1e-257", "+", ".", "Ki", "1\n", "1 ", "1e99999999999999999"]
)
def test_texts_that_only_waste_memory_or_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(text)


@settings(max_examples=300, derandomize=True)
@given(TEXTS)
def test_the_canonical_form_means_the_same_and_is_its_own_canonical_form(text: str) -> None:
    quantity = Quantity.parse(text)
    canonical = str(quantity)
    assert Quantity.parse(canonical) == quantity
    assert str(Quantity.parse(canonical)) == canonical


@settings(max_examples=300, derandomize=True)
@given(_NUMBERS, st.sampled_from(sorted(_SUFFIXES)))
def test_an_amount_is_exact_down_to_a_billionth(number: str, suffix: str) -> None:
    exact = Fraction(number if number[-1] != "." else number[:-1]) * Fraction(10) ** (_SUFFIXES[suffix] + 9)
    nano = Quantity.parse(number + suffix).nano
    assert abs(nano) >= abs(exact)
    assert abs(nano - exact) < 1


@settings(max_examples=200, derandomize=True)
@given(QUANTITIES, QUANTITIES, QUANTITIES)
def test_sums_and_order_are_those_of_numbers(first: Quantity, second: Quantity, third: Quantity) -> None:
    assert (first + second) + third == first + (second + third)
    assert first + second - second == first
    assert (first <= second) == (first + third <= second + third)
    assert first * 3 == first + first + first
    assert -first + first == Quantity()
    assert hash(first + second) == hash(second + first)
