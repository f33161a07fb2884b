"""Reading the protobuf bodies that kubectl sends."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.simulator.protobuf import MAGIC, NotUnderstood, to_object

NAMESPACE = (
    b'k8s\x00\n\x0f\n\x02v1\x12\tNamespace\x12\x1b\n\x13\n\x03foo\x12\x00\x1a\x00"\x00*\x002\x008\x00B\x00'
    b'\x12\x00\x1a\x02\n\x00\x1a\x00"\x00'
)
"""`kubectl create namespace foo`, as kubectl 1.37 sends it."""


def field(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def envelope(kind: str, raw: bytes, version: str = "v1") -> bytes:
    typed = field(1, version.encode()) + field(2, kind.encode())
    return MAGIC + field(1, typed) + field(2, raw)


def test_a_namespace_made_by_kubectl_is_read():
    assert to_object(NAMESPACE) == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "foo"}}


def test_labels_are_a_map_and_finalizers_a_list():
    labels = field(11, field(1, b"team") + field(2, b"ml")) + field(11, field(1, b"empty"))
    raw = field(1, field(1, b"foo") + labels + field(14, b"a") + field(14, b"b"))
    assert to_object(envelope("Namespace", raw))["metadata"] == {
        "name": "foo",
        "labels": {"team": "ml", "empty": ""},
        "finalizers": ["a", "b"],
    }


def test_options_of_a_deletion_are_read():
    raw = b"\x08\x1e" + field(2, field(1, b"uid")) + field(4, b"Background") + field(5, b"All")
    assert to_object(envelope("DeleteOptions", raw)) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 30,
        "preconditions": {"uid": "uid"},
        "propagationPolicy": "Background",
        "dryRun": ["All"],
    }


def test_a_negative_number_is_one():
    assert to_object(envelope("DeleteOptions", b"\x08" + b"\xff" * 9 + b"\x01"))["gracePeriodSeconds"] == -1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{}", "begin"),
        (envelope("Secret", b""), "JSON only"),
        (envelope("Namespace", field(9, b"x")), "field 9"),
        (envelope("Namespace", field(1, field(1, b"\xff"))), "UTF-8"),
        (envelope("Namespace", b"\x0a\x7f"), "too early"),
        (envelope("Namespace", b"\x0b"), "wire type"),
        (envelope("Namespace", b"\x08\x01"), "number"),
        (envelope("DeleteOptions", field(1, b"x")), "length"),
        (MAGIC + b"\xff" * 11, "too long"),
        (NAMESPACE + field(3, b"gzip"), "encoded"),
    ],
)
def test_what_is_not_understood_is_refused(body, why):
    with pytest.raises(NotUnderstood, match=why):
        to_object(body)


@given(st.binary(max_size=200))
def test_noise_is_refused_and_nothing_worse(noise):
    for body in (MAGIC + noise, NAMESPACE + noise, envelope("Namespace", noise[:120])):
        with contextlib.suppress(NotUnderstood):
            assert isinstance(to_object(body), dict)
