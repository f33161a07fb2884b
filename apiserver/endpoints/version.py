"""/version: which release this is."""

from __future__ import annotations

from fastapi import APIRouter

from apiserver.endpoints.plain_answer import Answer, raw_json
from apiserver.release import version_info


def router() -> APIRouter:
    """The route of the version."""
    routes = APIRouter()

    @routes.get("/version")
    async def get_version() -> Answer:
        return raw_json(version_info())

    return routes
