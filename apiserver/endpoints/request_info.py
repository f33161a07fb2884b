"""What a URL and a method mean: a verb on a resource, or a plain path.

Authorisation, metrics and routing all rest on this one reading, so it follows
`k8s.io/apiserver/pkg/endpoints/request.RequestInfoFactory` to the letter. It does not know which resources
there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import unquote_plus

from apiserver.endpoints.request import RequestInfo
from apiserver.machinery import errors

Query = Mapping[str, tuple[str, ...]]

_GROUPLESS_PREFIX = "api"
_API_PREFIXES = frozenset({_GROUPLESS_PREFIX, "apis"})
_VERBS_BY_PREFIX = frozenset({"proxy", "watch"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_VERBS_WITH_SELECTORS = frozenset({"list", "watch", "deletecollection"})
_VERB_OF_METHOD = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}

_LONG_RUNNING_VERBS = frozenset({"watch", "proxy"})
_PROBES = ("/healthz", "/livez", "/readyz")
_EMPTY: Query = MappingProxyType({})
_CACHED_QUERY_BYTES = 512
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_TERM = re.compile(r"(?:\\.|[^,\\])+|\\", re.DOTALL)
_OPERATOR = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_UNESCAPED_VALUE = re.compile(r"(?:\\[\\,=]|[^\\,=])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def parse_query(raw: bytes) -> Query:
    """The parameters of a query string, each with all of its values in order.

    As Go's `url.ParseQuery` does, a part with a semicolon or a broken escape is left out.
    """
    if not raw:
        return _EMPTY
    return _parse_short_query(raw) if len(raw) <= _CACHED_QUERY_BYTES else _parse_query(raw)


def _parse_query(raw: bytes) -> Query:
    found: dict[str, list[str]] = {}
    for part in raw.decode("utf-8", "replace").split("&"):
        if not part or ";" in part:
            continue
        name, _, value = part.partition("=")
        if "%" in part or "+" in part:
            if _BROKEN_ESCAPE.search(part):
                continue
            name, value = unquote_plus(name), unquote_plus(value)
        found.setdefault(name, []).append(value)
    return MappingProxyType({name: tuple(values) for name, values in found.items()})


_parse_short_query = lru_cache(maxsize=1024)(_parse_query)


def is_true(values: tuple[str, ...] | None) -> bool:
    """Read a boolean parameter: only absence, `0` and `false` are false (`Convert_Slice_string_To_bool`)."""
    if not values:
        return False
    return values[0] != "0" and values[0].lower() != "false"


def request_info(method: str, path: str, query: Query = _EMPTY) -> RequestInfo:
    """Read a request; `path` is decoded. Raises a 400 when a verb prefix is followed by no resource."""
    parts = path.strip("/").split("/")
    if len(parts) < 3 or parts[0] not in _API_PREFIXES:
        return RequestInfo(False, path, method.lower(), method)
    prefix = parts[0]
    group = ""
    parts = parts[1:]
    if prefix != _GROUPLESS_PREFIX:
        if len(parts) < 3:
            return RequestInfo(False, path, method.lower(), method, api_prefix=prefix)
        group = parts[0]
        parts = parts[1:]
    version = parts[0]
    parts = parts[1:]
    verb, parts, by_prefix = _verb(method, path, parts)
    namespace, parts = _namespace(parts)
    resource = parts[0]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 and verb != "proxy" else ""
    if not name:
        if verb == "get":
            verb, name = _collection_verb(query)
        elif verb == "delete":
            verb = "deletecollection"
    field_selector = label_selector = ""
    if query and not by_prefix and verb in _VERBS_WITH_SELECTORS:
        field_selector = query.get("fieldSelector", ("",))[0]
        label_selector = query.get("labelSelector", ("",))[0]
    return RequestInfo(
        True,
        path,
        verb,
        method,
        prefix,
        group,
        version,
        namespace,
        resource,
        subresource,
        name,
        tuple(parts),
        field_selector,
        label_selector,
    )


def _verb(method: str, path: str, parts: list[str]) -> tuple[str, list[str], bool]:
    """The verb by the method, or by the deprecated prefix `/watch/` or `/proxy/`, which is cut off."""
    if parts[0] not in _VERBS_BY_PREFIX:
        return _VERB_OF_METHOD.get(method, ""), parts, False
    if len(parts) < 2:
        raise errors.bad_request(f"unable to determine kind and namespace from url, {path}")
    return parts[0], parts[1:], True


def _namespace(parts: list[str]) -> tuple[str, list[str]]:
    """The namespace, and the parts from the resource on. A namespace is a resource in its own namespace."""
    if parts[0] != "namespaces" or len(parts) == 1:
        return "", parts
    if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
        return parts[1], parts[2:]
    return parts[1], parts


def _collection_verb(query: Query) -> tuple[str, str]:
    """`list` or `watch`, and the one name that the field selector allows, if it does so."""
    if not query:
        return "list", ""
    verb = "watch" if is_true(query.get("watch")) else "list"
    if any(name in query and not _INTEGER.fullmatch(query[name][0]) for name in ("limit", "timeoutSeconds")):
        return verb, ""
    return verb, exact_name(query.get("fieldSelector", ("",))[0])


def exact_name(field_selector: str) -> str:
    """The name that a field selector demands of `metadata.name`, or the empty string.

    A selector that does not parse, or a name that cannot be part of a path, gives the empty string.
    """
    if "metadata.name" not in field_selector:
        return ""
    name = ""
    for term in _TERM.findall(field_selector):
        match = _OPERATOR.fullmatch(term)
        if match is None or not _UNESCAPED_VALUE.fullmatch(match[3]):
            return ""
        if match[1] == "metadata.name" and match[2] != "!=" and not name:
            name = _ESCAPE.sub(r"\1", match[3])
    return "" if name in {".", ".."} or "/" in name or "%" in name else name


def is_long_running(info: RequestInfo) -> bool:
    """Whether the request has no time limit and does not count as in flight: watches, that is."""
    return info.verb in _LONG_RUNNING_VERBS


def is_probe(info: RequestInfo) -> bool:
    """Whether the request asks for the server's health."""
    return not info.is_resource_request and info.path.startswith(_PROBES)
