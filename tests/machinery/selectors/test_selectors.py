"""The texts were recorded from kube-apiserver 1.36.3."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.machinery.errors import APIError
from apiserver.machinery.selectors import parse_field_selector, parse_label_selector

VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation "
    "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    r"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
OPERATORS = "expected: in, notin, =, ==, !=, gt, lt"
UNABLE = "unable to parse requirement: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a in (b", UNABLE + "found '', expected: ',' or ')'"),
        ("a in b", UNABLE + "found 'b' expected: '('"),
        ("a=b,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a b", UNABLE + f"found 'b', {OPERATORS}"),
        ("a==b==c", "found '==', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!a in (b)", "found 'in', expected: ',' or 'end of string'"),
        (
            "a>x",
            UNABLE
            + "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("-a=b", UNABLE + f'<nil>: Invalid value: "-a": name part {KEY}'),
        ("a=b/c", UNABLE + f'values[0][a]: Invalid value: "b/c": {VALUE}'),
        ("!", UNABLE + "found '', expected: identifier"),
        ("a!b", UNABLE + f"found '!', {OPERATORS}"),
        ("a=!", UNABLE + "found '!', expected: identifier"),
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("a in (=)", UNABLE + "found '=', expected: ',', ')' or identifier"),
        ("(", "found '(', expected: !, identifier, or 'end of string'"),
        (
            "a/b/c=d",
            UNABLE
            + f'<nil>: Invalid value: "a/b/c": a valid label key {KEY} with an optional DNS subdomain prefix '
            "and '/' (e.g. 'example.com/MyName')",
        ),
        (
            f"a={'x' * 64}",
            UNABLE + f'values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        ),
        ("/a", UNABLE + '<nil>: Invalid value: "/a": prefix part must be non-empty'),
        ("a in (b) c", "found 'c', expected: ',' or 'end of string'"),
        ("a notin (b c)", UNABLE + "found 'c', expected: ',' or ')'"),
        ("A.B/c", UNABLE + f'<nil>: Invalid value: "A.B/c": prefix part {SUBDOMAIN}'),
        ("!!a", UNABLE + "found '!', expected: identifier"),
        ("a>=1", UNABLE + "found '=', expected: identifier"),
        (
            "a in (-b,c/d)",
            UNABLE
            + f'[values[0][a]: Invalid value: "-b": {VALUE}, values[1][a]: Invalid value: "c/d": {VALUE}]',
        ),
        ("a=)", UNABLE + "found ')', expected: identifier"),
        ("a<-1", UNABLE + f'values[0][a]: Invalid value: "-1": {VALUE}'),
    ],
)
def test_a_broken_label_selector_is_refused_in_the_words_of_kube_apiserver(text: str, message: str) -> None:
    with pytest.raises(APIError) as caught:
        parse_label_selector(text)
    assert (caught.value.code, caught.value.message) == (400, message)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("  ", ""),
        ("b=2 , a = 1", "a=1,b=2"),
        ("a==1", "a==1"),
        ("a in (c,b,,b)", "a in (,b,c)"),
        ("a in ()", "a in ()"),
        ("a in (,)", "a in ()"),
        ("in in (in)", "in in (in)"),
        ("notin", "notin"),
        ("!example.com/a", "!example.com/a"),
        ("a=,b!=", "a=,b!="),
        ("a>1,b<+2", None),
    ],
)
def test_a_label_selector_has_a_canonical_text(text: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(APIError):
            parse_label_selector(text)
        return
    assert str(parse_label_selector(text)) == canonical
    assert str(parse_label_selector(canonical)) == canonical


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("", {}, True),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("a=", {}, False),
        ("a=", {"a": ""}, True),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a notin (1,2)", {"a": "2"}, False),
        ("a notin (1,2)", {}, True),
        ("a>1", {"a": "2"}, True),
        ("a>1", {"a": "x"}, False),
        ("a>1", {}, False),
        ("a<3,b", {"a": "2", "b": "x"}, True),
        ("a=1,b=2", {"a": "1"}, False),
    ],
)
def test_a_label_selector_selects(text: str, labels: dict[str, str], selected: bool) -> None:
    selector = parse_label_selector(text)
    assert selector.matches(labels) is selected
    assert selector.predicate()(labels) is selected


@given(st.text(alphabet="ab/-=!()<>, in\0\t", max_size=14))
@settings(derandomize=True, deadline=None, max_examples=500)
def test_any_text_is_a_label_selector_with_a_stable_text_or_refused(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except APIError as error:
        message = error.message
    else:
        message = ""
        assert parse_label_selector(str(selector)) == selector
    assert isinstance(message, str)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec.size=1", "field label not supported: spec.size"),
        ("foo", "invalid selector: 'foo'; can't understand 'foo'"),
        (r"spec.color=a\b", r"invalid field selector: invalid escape sequence: \b"),
        ("spec.color=a=b", "invalid field selector: unescaped character in value: 61"),
        ("spec.color=\\", "invalid field selector: invalid escape sequence: \\"),
        (
            "metadata.name in (a)",
            "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'",
        ),
    ],
)
def test_a_broken_field_selector_is_refused_in_the_words_of_kube_apiserver(text: str, message: str) -> None:
    with pytest.raises(APIError) as caught:
        parse_field_selector(text, {"metadata.name", "metadata.namespace", "spec.color"})
    assert (caught.value.code, caught.value.message) == (400, message)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (",", ""),
        ("=", ""),
        ("b=2,a==1", "a=1,b=2"),
        ("a!=1", "a!=1"),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        ("a=", "a="),
    ],
)
def test_a_field_selector_has_a_canonical_text(text: str, canonical: str) -> None:
    assert str(parse_field_selector(text)) == canonical


def test_a_field_selector_selects_and_says_what_it_requires() -> None:
    selector = parse_field_selector("metadata.name=a,status.phase!=Ready")
    assert selector.matches({"metadata.name": "a"})
    assert not selector.matches({"metadata.name": "a", "status.phase": "Ready"})
    assert not selector.matches({})
    assert (selector.exact("metadata.name"), selector.exact("status.phase")) == ("a", None)
