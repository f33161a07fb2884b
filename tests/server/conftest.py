"""The chain as a whole, spoken to over ASGI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from apiserver.auth.anonymous import AnonymousAuthenticator
from apiserver.auth.authorizer import Attributes, Decision, Verdict
from apiserver.auth.request import Credentials
from apiserver.auth.user import UserInfo
from apiserver.server.chain import ChainConfig, build_chain
from apiserver.server.filters.instrument import Served
from apiserver.server.lifecycle import Lifecycle

TOKENS = {
    b"Bearer alice": UserInfo("alice", groups=("system:authenticated",)),
    b"Bearer root": UserInfo("root", groups=("system:masters", "system:authenticated")),
}


class TokenAuthenticator:
    """Knows a few tokens; whoever has none is anonymous."""

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        token = dict(credentials.headers).get(b"authorization")
        if token is None:
            return await AnonymousAuthenticator().authenticate(credentials)
        return TOKENS.get(token)


class ListAuthorizer:
    """Allows what is listed as (user, verb), and notes what it was asked."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self.allowed = set(allowed)
        self.asked: list[Attributes] = []

    async def authorize(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        if (
            attributes.user.name,
            attributes.verb,
        ) in self.allowed or "system:masters" in attributes.user.groups:
            return Decision(Verdict.ALLOW)
        return Decision(Verdict.NO_OPINION)


Client = Callable[..., httpx.AsyncClient]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Makes a client of an application behind the chain; keywords change the chain's configuration."""
    opened: list[httpx.AsyncClient] = []

    def make(app: ASGIApp, **config: Any) -> httpx.AsyncClient:
        settings = {
            "authenticator": TokenAuthenticator(),
            "authorizer": ListAuthorizer(("alice", "get"), ("alice", "list"), ("alice", "watch")),
            "lifecycle": Lifecycle(),
            "served": Served(frozenset({("ai.example.com", "v1", "inferencejobs")}), frozenset({"status"})),
        } | config
        transport = httpx.ASGITransport(build_chain(app, ChainConfig(**settings)))
        made = httpx.AsyncClient(
            transport=transport, base_url="https://server", headers={"Authorization": "Bearer alice"}
        )
        opened.append(made)
        return made

    yield make
    for made in opened:
        await made.aclose()


Handler = Callable[..., Awaitable[None]]
