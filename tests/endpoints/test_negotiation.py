"""Which representation a client gets: the same as kube-apiserver would give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.endpoints.negotiation import (
    DISCOVERY,
    OBJECT,
    PLAIN,
    WATCH,
    Accepted,
    accepted,
    body_media_type,
    find,
    negotiate,
    parse_accept,
)
from apiserver.endpoints.request import Request, RequestInfo
from apiserver.endpoints.request_info import parse_query
from apiserver.machinery.errors import APIError

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_TABLE = f"{JSON};as=Table;v={{}};g=meta.k8s.io"
KUBECTL_TABLE = ",".join((_TABLE.format("v1"), _TABLE.format("v1beta1"), JSON))
_LIST = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
METADATA = f"{PROTOBUF};{_LIST},{JSON};{_LIST},{JSON}"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", Accepted(JSON)),
        ("*/*", Accepted(JSON)),
        ("*", Accepted(JSON)),
        ("application/*", Accepted(JSON)),
        ("application/yaml", Accepted(YAML)),
        (f"{PROTOBUF},{JSON}", Accepted(JSON)),
        ("application/yaml, application/json", Accepted(YAML)),
        ("application/yaml;q=0.5, application/json;q=0.9", Accepted(JSON)),
        ("text/html,application/xhtml+xml,*/*;q=0.8", Accepted(JSON)),
        # A wildcard comes last whatever its q, as upstream sorts.
        ("*/*;q=1, application/yaml;q=0.1", Accepted(YAML)),
        ("application/json;pretty=1", Accepted(JSON, pretty=True)),
        (KUBECTL_TABLE, Accepted(JSON, "Table", "v1")),
        (METADATA, Accepted(JSON, "PartialObjectMetadataList", "v1")),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", Accepted(JSON)),
        ("application/json;as=Table;v=v1;g=other,application/yaml", Accepted(YAML)),
        ("application/json;stream=watch", Accepted(JSON, stream="watch")),
        ("application/json;stream=chat,application/yaml", Accepted(YAML)),
        ("application/json;sv=v9,application/yaml", Accepted(YAML)),
        ("application/json;charset=utf-8", Accepted(JSON)),
    ],
)
def test_the_first_clause_that_can_be_met_wins(header, expected):
    assert negotiate(header, OBJECT) == expected


@pytest.mark.parametrize("header", [PROTOBUF, "application/cbor", "text/html", "nonsense", "a/b/c", ","])
def test_what_cannot_be_met_is_406_with_what_there_is(header):
    with pytest.raises(APIError) as caught:
        negotiate(header, OBJECT)
    assert (caught.value.code, caught.value.reason) == (406, "NotAcceptable")
    assert caught.value.message == (
        "only the following media types are accepted: application/json, application/yaml"
    )


def test_a_table_alone_cannot_be_had_where_there_are_no_tables():
    assert find("application/json;as=Table;v=v1;g=meta.k8s.io", PLAIN) is None
    assert negotiate(KUBECTL_TABLE, PLAIN) == Accepted(JSON)


def test_a_watch_is_streamed_in_json_alone():
    assert negotiate("application/json;stream=watch", WATCH) == Accepted(JSON, stream="watch")
    assert negotiate(KUBECTL_TABLE, WATCH).as_kind == "Table"
    with pytest.raises(
        APIError, match="only the following media types are accepted: application/json;stream=watch"
    ):
        negotiate("application/yaml", WATCH)


def test_aggregated_discovery_is_only_for_who_asks_for_it():
    asked = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert find("", DISCOVERY) is None
    assert find(JSON, DISCOVERY) is None
    assert find(f"{asked},{JSON}", DISCOVERY) == Accepted(JSON, "APIGroupDiscoveryList", "v2")
    assert find(asked.replace("v2", "v3"), DISCOVERY) is None
    older = f"{asked.replace('v=v2', 'v=v2beta1')},{JSON}"
    assert find(older, DISCOVERY) == Accepted(JSON, "APIGroupDiscoveryList", "v2beta1")


def make_request(query=b"", **headers):
    raw = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return Request(RequestInfo(False, "/", "get"), headers=raw, query=parse_query(query))


@pytest.mark.parametrize(
    ("query", "agent", "pretty"),
    [
        (b"", b"kubectl/v1.36", False),
        (b"", b"curl/8.0", True),
        (b"", b"Mozilla/5.0 (X11)", True),
        (b"", b"Wget/1.2", True),
        (b"pretty=true", b"kubectl", True),
        (b"pretty=1", b"kubectl", True),
        (b"pretty=0", b"curl/8.0", False),
        (b"pretty=nonsense", b"curl/8.0", False),
        (b"pretty=", b"curl/8.0", True),
    ],
)
def test_people_get_indented_json(query, agent, pretty):
    assert accepted(make_request(query, user_agent=agent)).pretty is pretty


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", JSON),
        ("application/json", JSON),
        ("application/json; charset=utf-8", JSON),
        ("Application/YAML", YAML),
    ],
)
def test_the_media_type_of_a_body_is_read(header, expected):
    assert body_media_type(header) == expected


@pytest.mark.parametrize("header", ["text/plain", PROTOBUF, "json", "application/", "application/json x"])
def test_an_unsupported_body_is_415_with_what_is_supported(header):
    with pytest.raises(APIError) as caught:
        body_media_type(header)
    assert caught.value.code == 415
    assert caught.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml"
    )


@given(st.text(alphabet="application/jsony*;=,q.01 as", max_size=80))
def test_any_header_is_met_or_is_not_acceptable(header):
    found = find(header, OBJECT)
    assert found is None or found.media_type in {JSON, YAML}


@given(st.lists(st.floats(0, 1).map(lambda q: round(q, 3)), max_size=10))
def test_clauses_of_one_kind_are_in_the_order_of_their_q(qualities):
    header = ",".join(f"a/b{i};q={q}" for i, q in enumerate(qualities))
    found = [clause.q for clause in parse_accept(header)]
    assert found == sorted(found, reverse=True)
