"""Field errors have the texts of Kubernetes, because clients match on them."""

from __future__ import annotations

import pytest

from apiserver.machinery import field
from apiserver.machinery.errors import Cause
from apiserver.machinery.field import FieldError, Path

SPEC = Path("spec")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (field.required(SPEC.child("image")), "spec.image: Required value"),
        (field.required(SPEC, "say what"), "spec: Required value: say what"),
        (field.invalid(SPEC.child("n"), -1, "too low"), "spec.n: Invalid value: -1: too low"),
        (field.invalid(SPEC, None, "null"), "spec: Invalid value: null: null"),
        (field.invalid(SPEC, {"b": 1, "a": "<"}, "odd"), 'spec: Invalid value: {"a":"\\u003c","b":1}: odd'),
        (field.invalid(SPEC, 1e6, "big"), "spec: Invalid value: 1e+06: big"),
        (field.invalid(SPEC, 'a"\n', "odd"), 'spec: Invalid value: "a\\"\\n": odd'),
        (
            field.not_supported(SPEC, "x", ["a", "b"]),
            'spec: Unsupported value: "x": supported values: "a", "b"',
        ),
        (field.not_supported(SPEC, "x", []), 'spec: Unsupported value: "x"'),
        (field.forbidden(SPEC, "not now"), "spec: Forbidden: not now"),
        (field.duplicate(SPEC.index(1), "a"), 'spec[1]: Duplicate value: "a"'),
        (field.not_found(SPEC.key("a/b"), "c"), 'spec[a/b]: Not found: "c"'),
        (field.too_long(SPEC, 1), "spec: Too long: may not be more than 1 byte"),
        (field.too_long(SPEC, 63, "character"), "spec: Too long: may not be more than 63 characters"),
        (field.too_short(SPEC, 2), "spec: Too short: must be at least 2 characters"),
        (field.too_many(SPEC, 5, 1), "spec: Too many: 5: must have at most 1 item"),
        (field.internal(SPEC, "oops"), "spec: Internal error: oops"),
        (FieldError("FieldValueInvalid", "<nil>", "why", "", shows_value=False), "<nil>: Invalid value: why"),
    ],
)
def test_an_error_has_the_text_of_kubernetes(error: FieldError, text: str) -> None:
    assert str(error) == text
    assert error.cause() == Cause(error.type, text.partition(": ")[2], error.path)


def test_a_path_without_fields_is_written_as_go_writes_none() -> None:
    assert str(Path()) == "<nil>"
    assert str(Path().child("spec", "env").index(2).child("name")) == "spec.env[2].name"
