"""One call of a verb on a resource: the ASGI parts, the request as understood,
and the store that it is about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.types import Receive, Scope, Send

from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.machinery import errors
from apiserver.machinery.managedfields import default_manager
from apiserver.registry.hooks import Caller
from apiserver.registry.store import ResourceStore

T = TypeVar("T")

MAX_BODY = 3 * 1024 * 1024
"""Bytes that a request body may have, as kube-apiserver's `MaxRequestBodyBytes`."""

MAX_DECODED_HERE = 128 * 1024
"""Bytes of a body up to which it is decoded at once. Larger ones take up to a second, in a thread."""

MayCreate = Callable[["Call"], Awaitable[None]]


@dataclass(slots=True)
class Call:
    """What a verb needs to answer. `may_create` asks whether the user may create this object."""

    scope: Scope
    receive: Receive
    send: Send
    store: ResourceStore
    may_create: MayCreate

    @property
    def request(self) -> Request:
        """The request as the chain understood it."""
        request: Request = self.scope[SCOPE_KEY]
        return request

    @property
    def query(self) -> Mapping[str, Sequence[str]]:
        """The query parameters."""
        return self.request.query

    @property
    def version(self) -> str:
        """The version that the client speaks."""
        return self.request.info.version

    def header(self, name: bytes) -> str:
        """A header's value, or empty."""
        return self.request.headers.get(name, b"").decode("latin-1")

    def caller(self) -> Caller:
        """On whose behalf the registry acts."""
        request = self.request

        async def may_create() -> None:
            await self.may_create(self)

        return Caller(
            user=request.user,
            user_agent=default_manager(request.user_agent),
            warn=request.warnings.append,
            may_create=may_create,
        )

    def require_name(self) -> None:
        """Refuse a request about one object that names none. Raises 400."""
        if not self.request.info.name:
            raise errors.bad_request("name must be provided")

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """The whole body. Raises 413 when it is larger than `limit`."""
        chunks: list[bytes] = []
        size = 0
        while True:
            message: Any = await self.receive()
            if message["type"] == "http.disconnect":
                raise errors.bad_request("the client went away while sending the body")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise errors.too_large(f"Request entity too large: limit is {limit}")
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)


async def decoded(body: bytes, decode: Callable[[], T]) -> T:
    """What `decode` makes of `body`; in a thread when that may take long, so that others are served."""
    return decode() if len(body) <= MAX_DECODED_HERE else await asyncio.to_thread(decode)
