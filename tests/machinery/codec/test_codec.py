"""The texts were recorded from kube-apiserver 1.36.3 with a CRD of kind Widget, fieldValidation=Strict."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.machinery.codec import (
    MAX_DEPTH,
    decode,
    encode,
    encode_pretty,
    encode_yaml,
    splice_resource_version,
    store_form,
    strict_error,
)
from apiserver.machinery.errors import APIError

HEAD = '{"apiVersion":"x.example.com/v1","kind":"Widget","metadata":{"name":"b"},"spec":'
TYPE_META = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
UNREADABLE = "the object provided is unrecognized (must be of type Widget): "
NO_KIND = UNREADABLE + "couldn't get version/kind; json parse error: "


def refusal(body: bytes, media_type: Any = "application/json") -> str:
    with pytest.raises(APIError) as caught:
        decode(body, media_type, kind="Widget")
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"a":', 'unexpected end of JSON input ({"a":)'),
        ("", "unexpected end of JSON input (<empty>)"),
        ("[]", f"json: cannot unmarshal array into Go value of type {TYPE_META} (5b5d)"),
        ('"x"', f"json: cannot unmarshal string into Go value of type {TYPE_META} (227822)"),
        (
            '{"kind":1}',
            'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})',
        ),
        (
            HEAD + "NaN}",
            'invalid character \'N\' looking for beginning of value ({"apiVersion":"x.example.com/v ...)',
        ),
        (
            HEAD + "{}} x",
            'invalid character \'x\' after top-level value ({"apiVersion":"x.example.com/v ...)',
        ),
        (
            HEAD + "{}}{}",
            'invalid character \'{\' after top-level value ({"apiVersion":"x.example.com/v ...)',
        ),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string ({'a':1})"),
        ("\ufeff{}", "invalid character 'ï' looking for beginning of value (efbbbf7b7d)"),
        ("[tru", "invalid character ' ' in literal true (expecting 'e') (5b747275)"),
        ("[1.", "invalid character ' ' after decimal point in numeric literal (5b312e)"),
        ('["\\u1', "invalid character ' ' in \\u hexadecimal character escape (5b225c7531)"),
        ('["a', "unexpected end of JSON input (5b2261)"),
        ("[1", "unexpected end of JSON input (5b31)"),
        ("[01]", "invalid character '1' after array element (5b30315d)"),
        ("[1.]", "invalid character ']' after decimal point in numeric literal (5b312e5d)"),
        ("[1e]", "invalid character ']' in exponent of numeric literal (5b31655d)"),
        ("[-]", "invalid character ']' in numeric literal (5b2d5d)"),
        ("[tru]", "invalid character ']' in literal true (expecting 'e') (5b7472755d)"),
        ('["\\x"]', "invalid character 'x' in string escape code (5b225c78225d)"),
        ('["\\u12"]', "invalid character '\"' in \\u hexadecimal character escape (5b225c753132225d)"),
        ('["a\nb"]', "invalid character '\\n' in string literal (5b22610a62225d)"),
        ('{"a" 1}', "invalid character '1' after object key ({\"a\" 1})"),
        ('{"a":1 "b"}', 'invalid character \'"\' after object key:value pair ({"a":1 "b"})'),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string ({\"a\":1,})"),
    ],
)
def test_broken_json_is_refused_in_the_words_of_kube_apiserver(body: str, message: str) -> None:
    assert refusal(body.encode()) == NO_KIND + message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("null", "Object 'Kind' is missing in 'null' (6e756c6c)"),
        ("{}", "Object 'Kind' is missing in '{}' ({})"),
    ],
)
def test_a_body_without_a_kind_is_refused(body: str, message: str) -> None:
    assert refusal(body.encode()) == UNREADABLE + message


def test_a_number_that_no_float_holds_is_refused_by_the_kind() -> None:
    assert refusal((HEAD + '{"open":{"a":1e999}}}').encode()) == (
        'Widget in version "v1" cannot be handled as a Widget: '
        "json: cannot unmarshal number 1e999 into Go value of type float64"
    )


def test_duplicate_fields_are_named_with_their_paths_in_order_and_the_last_wins() -> None:
    body = HEAD + r'{"a":[{"b":1,"b":2}],"c\\":1,"c\\":2,"d.e":{"f":1,"f":2,"f":3}},"kind":"Widget"}'
    decoded = decode(body.encode(), kind="Widget")
    assert decoded.duplicates == [
        'duplicate field "spec.a[0].b"',
        'duplicate field "spec.c\\\\"',
        'duplicate field "spec.d.e.f"',
        'duplicate field "kind"',
    ]
    assert decoded.obj["spec"] == {"a": [{"b": 2}], "c\\": 2, "d.e": {"f": 3}}
    assert str(strict_error(decoded.obj, "Widget", decoded.duplicates[:2])) == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'duplicate field "spec.a[0].b", duplicate field "spec.c\\\\"'
    )


@pytest.mark.parametrize("tricky", ['{"a":1,"a":2,"b\\\\":3}', '{"a":1,"a":2,"b" :3}', '{"a":1, "a"\n:":x"}'])
def test_no_spelling_hides_a_duplicate(tricky: str) -> None:
    assert decode(f"{HEAD}{tricky}}}".encode()).duplicates == ['duplicate field "spec.a"']


@pytest.mark.parametrize(
    "innocent", ['{"a":":8080","b":"\\":"}', '{"a":"{\\"x\\\\\\"y\\":1,\\"x\\":2}"}', '{"":{"":""}}']
)
def test_strings_that_look_like_keys_are_no_duplicates(innocent: str) -> None:
    assert decode(f"{HEAD}{innocent}}}".encode()).duplicates == []


def test_numbers_are_int64_where_they_can_be_and_floats_elsewhere() -> None:
    body = HEAD + '{"a":1.0,"b":1e3,"c":18446744073709551615,"d":-0,"e":1e21,"f":1e-7,"g":0.1,"h":-0.0}}'
    spec = decode(body.encode()).obj["spec"]
    assert spec == {
        "a": 1,
        "b": 1000,
        "c": 1.8446744073709552e19,
        "d": 0,
        "e": 1e21,
        "f": 1e-7,
        "g": 0.1,
        "h": 0,
    }
    assert [type(spec[key]) for key in "abcdegh"] == [int, int, float, int, float, float, int]


def test_bytes_that_are_not_utf8_and_lone_surrogates_become_replacement_characters() -> None:
    assert decode(b'{"kind":"W","a":"\xff\xfe","b":"\\ud800"}').obj == {"kind": "W", "a": "��", "b": "�"}


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 100_000])
def test_nesting_too_deep_is_refused_and_never_exhausts_the_stack(opening: bytes, depth: int) -> None:
    closing = opening.replace(b'"a":', b"")[::-1].translate(bytes.maketrans(b"[{", b"]}"))
    assert "max depth" in refusal(opening * depth + b"1" + closing * depth)
    assert "nesting depth" in refusal(b"kind: W\na: " + b"[" * depth + b"]" * depth, "application/yaml")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"a: b: c", "yaml: mapping values are not allowed in this context (613a20623a2063)"),
        (b"\ta: b", "yaml: found character that cannot start any token (09613a2062)"),
        (b"", "Object 'Kind' is missing in '' (<empty>)"),
        (b"a: *x", "yaml: unknown anchor 'x' referenced (613a202a78)"),
        (b'a: "x', "yaml: found unexpected end of stream (613a202278)"),
        (b"a: [x", "yaml: line 1: did not find expected ',' or ']' (613a205b78)"),
        (b"- a\nb: c", "yaml: line 1: did not find expected '-' indicator (2d20610a623a2063)"),
        (b"a: \x01", "yaml: control characters are not allowed (613a2001)"),
        (b"a: \xff", "yaml: invalid leading UTF-8 octet (613a20ff)"),
        (b"a: &a [*a]", "yaml: anchor 'a' value contains itself (613a202661205b2a615d)"),
        (b"a: .inf", "json: unsupported value: +Inf (613a202e696e66)"),
    ],
)
def test_broken_yaml_is_refused_in_the_words_of_kube_apiserver(body: bytes, message: str) -> None:
    assert refusal(body, "application/yaml") == UNREADABLE + message


def test_duplicate_keys_of_yaml_are_one_strict_error() -> None:
    body = (
        b"apiVersion: x/v1\nkind: W\nspec:\n  color: red\n  color: blue\n  open: {a: 1, a: 2}\n  open: {}\n"
    )
    assert decode(body, "application/yaml").duplicates == [
        "yaml: unmarshal errors:\n"
        '  line 5: key "color" already set in map\n'
        '  line 6: key "a" already set in map\n'
        '  line 7: key "open" already set in map'
    ]


def test_plain_yaml_scalars_mean_what_they_mean_to_kubernetes() -> None:
    body = b"""kind: W
a: [yes, 2001-01-01, 0x10, 010, 0o10, 1_000, 1e3, ~, 1.0, 12:30:45, 0b11, !!str 1, y, 2001-01-01T00:00:00Z]
b: [08, -010, 0x_1, 1_0.5, -0b1, 1e+3, =, 0o8, 99999999999999999999, .5_0, 1., "1", !!binary aGk=, !foo z]
1: {true: x, 1.5: z}
"""
    obj = decode(body, "application/yaml").obj
    assert obj["a"] == [
        *(True, "2001-01-01", 16, 8, 8, 1000, 1000, None, 1, "12:30:45", 3, "1", True, "2001-01-01T00:00:00Z")
    ]
    assert obj["b"] == [8, -8, 1, 10.5, -1, 1000, "=", "0o8", 1e20, 0.5, 1, "1", "hi", "z"]
    assert obj["1"] == {"true": "x", "1.5": "z"}


def test_aliases_and_merges_are_copies() -> None:
    obj = decode(b"kind: W\nx: &a {b: [c]}\nw: {<<: *a, d: e}\nz: *a\n", "application/yaml").obj
    assert obj["w"] == {"b": ["c"], "d": "e"}
    obj["z"]["b"].append("f")
    assert obj["x"] == {"b": ["c"]}


def test_an_alias_bomb_is_refused() -> None:
    layers = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 10))
    assert "excessive aliasing" in refusal(b"kind: W\nl0: &l0 [x]\n" + layers.encode(), "application/yaml")


def test_only_the_first_document_counts() -> None:
    assert decode(b"kind: W\n---\n: : :", "application/yaml").obj == {"kind": "W"}


keys = st.text(min_size=0, max_size=8) | st.sampled_from(["metadata", "resourceVersion", '"metadata":{', "a"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text()
    | st.floats(-1e9, 1e9).map(lambda number: number + 0.5 if number.is_integer() else number)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)
)
objects = st.builds(
    lambda api_version, kind, metadata, rest: {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        **{key: value for key, value in rest.items() if key not in ("apiVersion", "kind", "metadata")},
    },
    st.text() | st.just('"metadata":{'),
    st.text(min_size=1),
    st.dictionaries(keys, values, max_size=4),
    st.dictionaries(keys, values, max_size=4),
)


@given(objects, st.integers(1, 2**63 - 1))
@settings(derandomize=True, deadline=None)
def test_a_spliced_stored_form_is_the_object_with_its_resource_version(
    obj: dict[str, Any], revision: int
) -> None:
    spliced = splice_resource_version(store_form(obj), revision)
    expected = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
    assert orjson.loads(spliced) == expected
    assert decode(spliced).duplicates == []


@given(objects)
@settings(derandomize=True, deadline=None)
def test_json_and_yaml_round_trip(obj: dict[str, Any]) -> None:
    assert decode(encode(obj)).obj == obj
    assert decode(encode_pretty(obj)).obj == obj
    assert decode(json.dumps(obj).encode()).obj == obj
    if all(char.isprintable() or char == "\n" for char in json.dumps(obj, ensure_ascii=False)):
        assert decode(encode_yaml(obj), "application/yaml").obj == obj


@given(st.binary(max_size=200))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_bytes_decode_or_are_refused(body: bytes) -> None:
    for media_type in ("application/json", "application/yaml"):
        with suppress(APIError):
            decode(body, media_type)  # type: ignore[arg-type]


def test_an_object_without_metadata_has_no_stored_form() -> None:
    with pytest.raises(ValueError, match="needs apiVersion"):
        store_form({"apiVersion": "v1", "kind": "W"})


def test_yaml_output_quotes_what_a_reader_would_take_for_something_else() -> None:
    assert (
        encode_yaml({"b": "y", "a": ["1e3", "0o7", ""], "c": {}})
        == b'a:\n- "1e3"\n- "0o7"\n- ""\nb: "y"\nc: {}\n'
    )
