"""Everything that is served beside resources, as one FastAPI application without any of its own pages.

Errors leave it as APIError, like those of the resource endpoints, so that one place turns them into a Status.
That is why it runs without Starlette's error middleware. See docs/adr/0002-fastapi-off-the-hot-path.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.endpoints import discovery, health, metrics, openapi, version
from apiserver.endpoints.discovery import Discovery
from apiserver.endpoints.health import HealthChecks
from apiserver.endpoints.openapi import OpenAPI
from apiserver.endpoints.plain_answer import Answer, raw_json
from apiserver.machinery import errors

_ALLOWED_METHODS_HEADER = "Allow"


class _Application(FastAPI):
    """FastAPI whose exceptions reach the caller."""

    def build_middleware_stack(self) -> ASGIApp:
        return AsyncExitStackMiddleware(self.router)


class StatusPaths:
    """The ASGI application of all paths that are no resources."""

    def __init__(self, checks: HealthChecks, groups: Discovery, documents: OpenAPI) -> None:
        self.paths = sorted({*checks.paths(), *groups.paths(), *documents.paths(), "/metrics", "/version"})
        self._application = _application(
            (
                _index(self.paths),
                health.router(checks),
                metrics.router(),
                version.router(),
                discovery.router(groups),
                openapi.router(documents),
            )
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises APIError."""
        try:
            await self._application(scope, receive, send)
        except HTTPException as error:
            raise _from_http(error) from error
        except RequestValidationError as error:
            raise errors.bad_request(str(error)) from error


def _application(routers: Sequence[APIRouter]) -> FastAPI:
    application = _Application(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    for router in routers:
        application.include_router(router)
    return application


def _from_http(error: HTTPException) -> errors.APIError:
    if error.status_code == 404:
        return errors.no_such_path()
    if error.status_code == 405:
        message = "the server does not allow this method on the requested resource"
        allowed = (error.headers or {}).get(_ALLOWED_METHODS_HEADER)
        headers = {_ALLOWED_METHODS_HEADER: allowed} if allowed else {}
        return errors.APIError(405, "MethodNotAllowed", message, headers=headers)
    return errors.APIError(error.status_code, "", str(error.detail))


def _index(paths: Iterable[str]) -> APIRouter:
    routes = APIRouter()
    listed = {"paths": list(paths)}

    @routes.get("/")
    @routes.get("/index.html")
    async def index() -> Answer:
        return raw_json(listed)

    return routes
