"""Which representation a client gets, and which one it sent.

The rules are those of `k8s.io/apiserver/pkg/endpoints/handlers/negotiation`: the clauses of `Accept` in
order of preference, and the first one that can be met wins. Parsed headers are cached, because every client
sends the same few. It must not know of objects or of how they are encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from apiserver.endpoints.request import Request
from apiserver.machinery import errors

JSON = "application/json"
YAML = "application/yaml"
JSON_WATCH = "application/json;stream=watch"
SERVED = (JSON, YAML)
DISCOVERY_KIND: Final = "APIGroupDiscoveryList"
DISCOVERY_GROUP = "apidiscovery.k8s.io"

Transform = Literal["Table", "PartialObjectMetadata", "PartialObjectMetadataList", "APIGroupDiscoveryList"]

_META_GROUP = "meta.k8s.io"
_META_VERSIONS = frozenset({"v1", "v1beta1"})
_DISCOVERY_VERSIONS = frozenset({"v2", "v2beta1"})
_META_TRANSFORMS: tuple[Transform, ...] = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_MAX_CLAUSES = 64
_MAX_CACHED_HEADER = 1024
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_HUMAN_AGENTS = (b"curl", b"Wget", b"Mozilla/5.0")


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the client gets: a media type, and the kind that the answer is turned into (None: as it is).

    `pretty` asks for indented JSON; `stream` is `watch` where the clause said so.
    """

    media_type: str
    as_kind: Transform | None = None
    as_version: str = ""
    pretty: bool = False
    stream: str = ""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of an Accept header."""

    type: str
    subtype: str
    q: float = 1.0
    params: tuple[tuple[str, str], ...] = ()

    def before(self, other: Clause) -> bool:
        """Whether this clause is preferred: higher q, or more specific (whatever the q: as upstream does)."""
        if self.q > other.q:
            return True
        if self.type != "*" and other.type == "*":
            return True
        return self.subtype != "*" and other.subtype == "*"

    def matches(self, media_type: str) -> bool:
        """Whether the clause covers the media type."""
        kind, _, subtype = media_type.partition("/")
        return (self.type in {kind, "*"} and self.subtype == "*") or (
            self.type == kind and self.subtype == subtype
        )


def parse_accept(header: str) -> list[Clause]:
    """The clauses of an Accept header, the preferred ones first. Malformed clauses are left out."""
    clauses: list[Clause] = []
    for part in header.split(",")[:_MAX_CLAUSES]:
        clause = _parse_clause(part.strip(" "))
        if clause is not None:
            clauses.append(clause)
    # Upstream sorts by an order that is not transitive; for the lengths seen in practice by insertion.
    for i in range(1, len(clauses)):
        j = i
        while j > 0 and clauses[j].before(clauses[j - 1]):
            clauses[j], clauses[j - 1] = clauses[j - 1], clauses[j]
            j -= 1
    return clauses


def _parse_clause(part: str) -> Clause | None:
    media_type, *rest = part.split(";")
    kind, slash, subtype = media_type.partition("/")
    kind, subtype = kind.strip(" "), subtype.strip(" ")
    if not slash or not subtype:
        if kind != "*":
            return None
        subtype = "*"
    if "/" in subtype:
        return None
    q = 1.0
    params: list[tuple[str, str]] = []
    for param in rest:
        name, _, value = param.partition("=")
        if not value or "=" in value:
            continue
        if name.strip(" ") == "q":
            q = _quality(value)
        else:
            params.append((name.strip(" "), value.strip(" ")))
    return Clause(kind, subtype, q, tuple(params))


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


@dataclass(frozen=True, slots=True)
class Restrictions:
    """What an endpoint can answer with: media types, the preferred one first, transformations and streams."""

    media_types: tuple[str, ...] = SERVED
    transforms: tuple[Transform, ...] = ()
    plain: bool = True
    streams: bool = False


PLAIN = Restrictions()
OBJECT = Restrictions(transforms=_META_TRANSFORMS)
WATCH = Restrictions(transforms=_META_TRANSFORMS, streams=True)
DISCOVERY = Restrictions(transforms=(DISCOVERY_KIND,), plain=False)


def negotiate(accept: str, restrictions: Restrictions = OBJECT) -> Accepted:
    """What an Accept header gets of an endpoint. Raises 406 NotAcceptable with the list of what there is."""
    found = find(accept, restrictions)
    if found is None and restrictions.streams and find(accept, replace(restrictions, streams=False)):
        raise errors.not_acceptable((JSON_WATCH,))
    if found is None:
        raise errors.not_acceptable(restrictions.media_types)
    return found


def find(accept: str, restrictions: Restrictions) -> Accepted | None:
    """What an Accept header gets of an endpoint, or None."""
    if len(accept) <= _MAX_CACHED_HEADER:
        return _negotiate_cached(accept, restrictions)
    return _negotiate(accept, restrictions)


def _negotiate(accept: str, restrictions: Restrictions) -> Accepted | None:
    if not accept:
        return Accepted(restrictions.media_types[0]) if restrictions.plain else None
    for clause in parse_accept(accept):
        for media_type in restrictions.media_types:
            if clause.matches(media_type):
                accepted = _meet(clause, media_type, restrictions)
                if accepted is not None:
                    # A stream can only be had in JSON; the first match decides, as upstream does.
                    return None if restrictions.streams and accepted.media_type != JSON else accepted
    return None


_negotiate_cached = lru_cache(maxsize=512)(_negotiate)


def _meet(clause: Clause, media_type: str, restrictions: Restrictions) -> Accepted | None:
    """The clause met with a media type, or None where its parameters ask for more than the endpoint does."""
    params = dict(clause.params)
    stream = params.get("stream", "")
    if stream and (media_type != JSON or stream != "watch"):
        return None
    if params.get("sv", "v1") != "v1":
        return None
    pretty = params.get("pretty") == "1"
    if not params.keys() & {"as", "g", "v"}:
        return Accepted(media_type, pretty=pretty, stream=stream) if restrictions.plain else None
    kind, group, version = (params.get(key, "") for key in ("as", "g", "v"))
    for transform in restrictions.transforms:
        if kind == transform and _is_served(transform, group, version):
            return Accepted(media_type, transform, version, pretty, stream)
    return None


def _is_served(transform: Transform, group: str, version: str) -> bool:
    if transform == DISCOVERY_KIND:
        return group == DISCOVERY_GROUP and version in _DISCOVERY_VERSIONS
    return group == _META_GROUP and version in _META_VERSIONS


def accepted(request: Request, restrictions: Restrictions = OBJECT) -> Accepted:
    """What this request gets of an endpoint, pretty or not. Raises 406 NotAcceptable."""
    found = negotiate(request.headers.get(b"accept", b"").decode("latin-1"), restrictions)
    if not found.pretty and wants_pretty(request):
        return replace(found, pretty=True)
    return found


def wants_pretty(request: Request) -> bool:
    """Whether `?pretty` or a user agent that shows answers to people asks for indented JSON."""
    pretty = request.parameter("pretty")
    if pretty:
        return pretty in _TRUE
    return request.headers.get(b"user-agent", b"").startswith(_HUMAN_AGENTS)


@lru_cache(maxsize=256)
def _bare_media_type(content_type: str) -> str:
    """The media type of a Content-Type header without its parameters; empty when it is malformed."""
    media_type = content_type.partition(";")[0].strip().lower()
    kind, slash, subtype = media_type.partition("/")
    if not slash or not kind or not subtype or "/" in subtype or " " in media_type:
        return ""
    return media_type


def body_media_type(content_type: str, supported: Sequence[str] = SERVED, default: str = JSON) -> str:
    """The media type of a body; without a header it is `default`. Raises 415 for one not supported."""
    if not content_type:
        return default
    media_type = _bare_media_type(content_type[:_MAX_CACHED_HEADER])
    if media_type not in supported:
        raise unsupported(supported)
    return media_type


def unsupported(supported: Iterable[str]) -> errors.APIError:
    """415: the body is in none of the supported media types."""
    listed = ", ".join(supported)
    return errors.unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {listed}"
    )
