"""One reading of a URL, the same as kube-apiserver's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.endpoints.request_info import exact_name, is_true, parse_query, request_info
from apiserver.machinery.errors import APIError

JOBS = "/apis/ai.example.com/v1/namespaces/ml/inferencejobs"


def read(method, path, query=b""):
    return request_info(method, path, parse_query(query))


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        # (verb, prefix, group, version, namespace, resource, subresource, name); from requestinfo_test.go
        ("GET", "/api/v1/namespaces", b"", ("list", "api", "", "v1", "", "namespaces", "", "")),
        (
            "GET",
            "/api/v1/namespaces/other",
            b"",
            ("get", "api", "", "v1", "other", "namespaces", "", "other"),
        ),
        ("GET", "/api/v1/namespaces/other/pods", b"", ("list", "api", "", "v1", "other", "pods", "", "")),
        (
            "GET",
            "/api/v1/namespaces/other/pods/foo",
            b"",
            ("get", "api", "", "v1", "other", "pods", "", "foo"),
        ),
        (
            "HEAD",
            "/api/v1/namespaces/other/pods/foo",
            b"",
            ("get", "api", "", "v1", "other", "pods", "", "foo"),
        ),
        ("GET", "/api/v1/pods", b"", ("list", "api", "", "v1", "", "pods", "", "")),
        ("HEAD", "/api/v1/pods", b"", ("list", "api", "", "v1", "", "pods", "", "")),
        (
            "GET",
            "/api/v1/proxy/namespaces/o/pods/foo",
            b"",
            ("proxy", "api", "", "v1", "o", "pods", "", "foo"),
        ),
        ("GET", "/api/v1/proxy/pods/foo/x", b"", ("proxy", "api", "", "v1", "", "pods", "", "foo")),
        ("GET", "/api/v1/watch/pods", b"", ("watch", "api", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/watch/namespaces/o/pods", b"", ("watch", "api", "", "v1", "o", "pods", "", "")),
        ("GET", "/api/v1/pods", b"watch=true", ("watch", "api", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/pods", b"watch=false", ("list", "api", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/pods", b"watch=0", ("list", "api", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/pods", b"watch=", ("watch", "api", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/pods", b"watch", ("watch", "api", "", "v1", "", "pods", "", "")),
        (
            "GET",
            f"{JOBS}/x/status",
            b"",
            ("get", "apis", "ai.example.com", "v1", "ml", "inferencejobs", "status", "x"),
        ),
        ("PUT", f"{JOBS}/x", b"", ("update", "apis", "ai.example.com", "v1", "ml", "inferencejobs", "", "x")),
        (
            "PATCH",
            f"{JOBS}/x",
            b"",
            ("patch", "apis", "ai.example.com", "v1", "ml", "inferencejobs", "", "x"),
        ),
        ("POST", JOBS, b"", ("create", "apis", "ai.example.com", "v1", "ml", "inferencejobs", "", "")),
        (
            "DELETE",
            f"{JOBS}/x",
            b"",
            ("delete", "apis", "ai.example.com", "v1", "ml", "inferencejobs", "", "x"),
        ),
        (
            "DELETE",
            JOBS,
            b"",
            ("deletecollection", "apis", "ai.example.com", "v1", "ml", "inferencejobs", "", ""),
        ),
        (
            "PUT",
            "/api/v1/namespaces/ml/finalize",
            b"",
            ("update", "api", "", "v1", "ml", "namespaces", "finalize", "ml"),
        ),
        (
            "PUT",
            "/api/v1/namespaces/ml/status",
            b"",
            ("update", "api", "", "v1", "ml", "namespaces", "status", "ml"),
        ),
        ("GET", "/apis/g/v1/gpunodes/n", b"", ("get", "apis", "g", "v1", "", "gpunodes", "", "n")),
        ("TRACE", "/apis/g/v1/gpunodes/n", b"", ("", "apis", "g", "v1", "", "gpunodes", "", "n")),
        (
            "GET",
            JOBS,
            b"fieldSelector=metadata.name%3Dx",
            ("list", "apis", "ai.example.com", "v1", "ml", "inferencejobs", "", "x"),
        ),
        (
            "GET",
            JOBS,
            b"watch=1&fieldSelector=status.phase%3DReady,metadata.name%3D%3Dx",
            ("watch", "apis", "ai.example.com", "v1", "ml", "inferencejobs", "", "x"),
        ),
    ],
)
def test_a_resource_request_is_read(method, path, query, expected):
    info = read(method, path, query)
    assert info.is_resource_request
    assert (
        info.verb,
        info.api_prefix,
        info.group,
        info.version,
        info.namespace,
        info.resource,
        info.subresource,
        info.name,
    ) == expected


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/g",
        "/apis/g/v1",
        "/apis/g/v1/",
        "/healthz",
        "/a/b/c/d",
        "//",
        "",
    ],
)
def test_other_paths_are_no_resource_requests(path):
    info = read("GET", path)
    assert not info.is_resource_request
    assert (info.verb, info.path, info.resource) == ("get", path, "")


@pytest.mark.parametrize("path", ["/apis/g/v1/watch", "/api/v1/watch/"])
def test_a_watch_prefix_alone_is_a_bad_request(path):
    with pytest.raises(APIError, match="unable to determine kind and namespace from url"):
        read("GET", path)


def test_selectors_are_kept_for_the_verbs_that_honour_them():
    info = read("GET", JOBS, b"labelSelector=a%3Db&fieldSelector=x%3Dy&labelSelector=other")
    assert (info.label_selector, info.field_selector) == ("a=b", "x=y")
    assert read("DELETE", JOBS, b"labelSelector=a").label_selector == "a"
    assert read("GET", f"{JOBS}/x", b"labelSelector=a").label_selector == ""
    assert read("GET", "/api/v1/watch/pods", b"labelSelector=a").label_selector == ""


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("metadata.name=x", "x"),
        ("metadata.name==x", "x"),
        ("metadata.name!=x", ""),
        ("a=b,metadata.name=x", "x"),
        ("metadata.name=x,metadata.name=y", "x"),
        (r"metadata.name=a\,b", "a,b"),
        (r"metadata.name=a\=b", "a=b"),
        ("metadata.name=a=b", ""),
        ("metadata.name=x,broken", ""),
        ("metadata.name=a/b", ""),
        ("metadata.name=..", ""),
        ("metadata.name=a%2fb", ""),
        ("metadata.name=", ""),
        ("metadata.namespace=x", ""),
        ("", ""),
    ],
)
def test_the_name_that_a_field_selector_demands_is_found(selector, name):
    assert exact_name(selector) == name


def test_options_that_cannot_be_read_leave_the_name_open():
    info = read("GET", JOBS, b"limit=many&watch=1&fieldSelector=metadata.name%3Dx")
    assert (info.verb, info.name) == ("watch", "")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", {}),
        (b"a=1&b=2&a=3", {"a": ("1", "3"), "b": ("2",)}),
        (b"a", {"a": ("",)}),
        (b"a=b=c", {"a": ("b=c",)}),
        (b"a+b=c+d", {"a b": ("c d",)}),
        (b"a;b=1&c=2", {"c": ("2",)}),
        (b"a=%zz&b=%41", {"b": ("A",)}),
        (b"&&a=1&", {"a": ("1",)}),
        ("k=ü".encode(), {"k": ("ü",)}),
    ],
)
def test_a_query_is_read_as_go_does(raw, expected):
    assert dict(parse_query(raw)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [(None, False), ((), False), (("",), True), (("0",), False), (("False",), False), (("no",), True)],
)
def test_a_boolean_is_true_unless_it_says_otherwise(values, expected):
    assert is_true(values) is expected


@given(st.sampled_from(["GET", "PUT", "DELETE", "X"]), st.text(alphabet="/apis watchproxynamespaces.é%"))
def test_any_path_is_read_or_is_a_bad_request(method, path):
    if path.strip("/") in {"watch", "proxy"}:
        with pytest.raises(APIError, match="unable to determine"):
            read(method, f"/apis/g/v1/{path}")
    else:
        assert read(method, f"/apis/g/v1/{path}").method == method


def test_a_long_query_is_read_in_linear_time():
    assert len(parse_query(b"a&" * 200_000)["a"]) == 200_000


@given(st.binary(max_size=600))
def test_any_query_is_read(raw):
    assert all(values for values in parse_query(raw).values())
