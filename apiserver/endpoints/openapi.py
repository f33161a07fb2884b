"""/openapi/v2 and /openapi/v3: the documents that kubectl explains, validates and applies by.

Built at the first request, once, in a thread: they are large and kube-apiserver polls them for ever after.
Only JSON is served; clients that prefer protobuf list JSON as well. Source: `k8s.io/kube-openapi/pkg/handler`
and `handler3`, except that a stale hash gets the current document: the aggregator turns redirects into 502.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import orjson
from fastapi import APIRouter
from starlette.requests import Request as HTTPRequest

from apiserver.endpoints.negotiation import JSON, parse_accept
from apiserver.endpoints.plain_answer import Answer, kube
from apiserver.endpoints.request import Request
from apiserver.endpoints.respond import Header
from apiserver.machinery import errors

Build = Callable[[], Mapping[str, Any]]

_VARY: Header = (b"vary", b"Accept")
_YEAR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it is sent, with the hash that names its content."""

    body: bytes
    hash: str

    @property
    def etag(self) -> bytes:
        """The hash in quotes."""
        return f'"{self.hash}"'.encode()


def document(content: Mapping[str, Any]) -> Document:
    """Encode a document, with the SHA-512 in upper-case hexadecimal."""
    body = orjson.dumps(content)
    return Document(body, hashlib.sha512(body).hexdigest().upper())


@dataclass(frozen=True, slots=True)
class _Built:
    v2: Document
    v3: Mapping[str, Document]
    index: Document


class OpenAPI:
    """All OpenAPI documents. `v3` maps paths such as `apis/ai.example.com/v1` to what builds them."""

    def __init__(self, v2: Build, v3: Mapping[str, Build]) -> None:
        self._v2 = v2
        self._v3 = dict(v3)
        self._built: _Built | None = None
        self._building = asyncio.Lock()

    def paths(self) -> list[str]:
        """Every path served."""
        return ["/openapi/v2", "/openapi/v3", *(f"/openapi/v3/{name}" for name in self._v3)]

    async def build(self) -> _Built:
        """The documents, built now if they have not been."""
        if self._built is None:
            async with self._building:
                if self._built is None:
                    self._built = await asyncio.to_thread(self._build)
        return self._built

    def _build(self) -> _Built:
        v3 = {name: document(build()) for name, build in self._v3.items()}
        urls = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={built.hash}"} for name, built in v3.items()
        }
        return _Built(document(self._v2()), v3, document({"paths": urls}))

    async def answer_v2(self, request: Request) -> Answer:
        """The Swagger document of everything. Raises 406 when the client takes no JSON."""
        _require_json(request)
        return _answer(request, (await self.build()).v2, (_VARY,))

    async def answer_index(self, request: Request) -> Answer:
        """Where the documents of the group versions are."""
        return _answer(request, (await self.build()).index)

    async def answer_v3(self, request: Request, name: str) -> Answer:
        """The document of one group version; it may be cached for ever under its hash. Raises 404, 406."""
        _require_json(request)
        found = (await self.build()).v3.get(name)
        if found is None:
            raise errors.no_such_path()
        headers = [_VARY]
        if request.parameter("hash") == found.hash:
            expires = format_datetime(datetime.now(UTC) + _YEAR, usegmt=True).encode()
            headers += [(b"cache-control", b"public, immutable"), (b"expires", expires)]
        return _answer(request, found, headers)


def _require_json(request: Request) -> None:
    header = request.headers.get(b"accept", b"").decode("latin-1")
    if header and not any(clause.matches(JSON) or clause.type == "*" for clause in parse_accept(header)):
        raise errors.not_acceptable((JSON,))


def _answer(request: Request, found: Document, headers: Sequence[Header] = ()) -> Answer:
    tagged = ((b"etag", found.etag), *headers)
    if request.headers.get(b"if-none-match") == found.etag:
        return Answer(b"", JSON, 304, tagged)
    return Answer(found.body, JSON, headers=tagged)


def router(openapi: OpenAPI) -> APIRouter:
    """The routes of the documents."""
    routes = APIRouter()

    @routes.api_route("/openapi/v2", methods=["GET", "HEAD"])
    async def v2(http: HTTPRequest) -> Answer:
        return await openapi.answer_v2(kube(http))

    @routes.api_route("/openapi/v3", methods=["GET", "HEAD"])
    async def index(http: HTTPRequest) -> Answer:
        return await openapi.answer_index(kube(http))

    @routes.api_route("/openapi/v3/{name:path}", methods=["GET", "HEAD"])
    async def v3(name: str, http: HTTPRequest) -> Answer:
        return await openapi.answer_v3(kube(http), name)

    return routes
