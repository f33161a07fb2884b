"""/metrics: everything registered with prometheus-client, in the format that the scraper asks for."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request as HTTPRequest

from apiserver.endpoints.plain_answer import Answer, kube


def router(registry: CollectorRegistry = REGISTRY) -> APIRouter:
    """The route of the metrics."""
    routes = APIRouter()

    @routes.get("/metrics")
    async def metrics(http: HTTPRequest) -> Answer:
        encoder, content_type = choose_encoder(kube(http).headers.get(b"accept", b"").decode("latin-1"))
        # Thousands of series take milliseconds: in a thread, so that nobody else waits.
        return Answer(await asyncio.to_thread(encoder, registry), content_type)

    return routes
