"""The whole application as a target: real registry, real SQLite, no socket; and what each answer must be."""

from __future__ import annotations

import asyncio
import gzip
import re
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import structlog
import yaml

from apiserver.admission.chain import AdmissionChain
from apiserver.apis.ai.resources import RESOURCES
from apiserver.auth.authorizer import Authorizer, local_authorizer
from apiserver.auth.request import Authenticator, Credentials
from apiserver.auth.user import UserInfo
from apiserver.endpoints.health import HealthChecks
from apiserver.registry.build import build_registry
from apiserver.registry.store import Registry
from apiserver.server.application import build_application
from apiserver.server.chain import ChainConfig
from apiserver.server.lifecycle import Lifecycle
from apiserver.simulator.core import CORE_RESOURCES
from storage.open import EtcdOptions, open_store

ADMIN = UserInfo("admin", groups=("system:masters", "system:authenticated"))
GROUP = "/apis/ai.example.com/v1"
JOBS = f"{GROUP}/namespaces/ml/inferencejobs"

REASONS = {
    400: {"BadRequest"},
    401: {"Unauthorized"},
    403: {"Forbidden"},
    404: {"NotFound"},
    405: {"MethodNotAllowed"},
    406: {"NotAcceptable"},
    408: {"Timeout"},
    409: {"Conflict", "AlreadyExists"},
    410: {"Expired"},
    413: {"RequestEntityTooLarge"},
    415: {"UnsupportedMediaType"},
    422: {"Invalid"},
    429: {"TooManyRequests"},
    431: {"RequestHeaderFieldsTooLarge"},
    503: {"ServiceUnavailable"},
    504: {"Timeout"},
}
"""The reasons that may come with a code. 500 is not among them: nobody may be able to provoke one."""

_INNER_LIFE = re.compile(rb'Traceback|File \\?"|\.py\b|<[a-z.A-Z_]+ object at 0x|Errno|NoneType|Error\(')


class Administrator:
    """Takes everybody for the administrator."""

    async def authenticate(self, credentials: Credentials) -> UserInfo:
        return ADMIN


@dataclass
class Answer:
    """What came back, whole."""

    code: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    complete: bool = False

    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def message(self) -> str:
        """The message of a Status, or what there is."""
        try:
            return str(self.json().get("message"))
        except (ValueError, AttributeError):
            return self.body[:200].decode("latin-1")


@dataclass(frozen=True)
class Attempt:
    """One request, as it can be printed and sent again."""

    method: str
    path: str
    query: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""

    def __str__(self) -> str:
        shown = self.body if len(self.body) < 3000 else self.body[:3000] + b"..."
        return f"{self.method} {self.path!r} ?{self.query[:1500]!r}\n  {self.headers!r:.1500}\n  {shown!r}"


@dataclass
class Target:
    """Sends attempts to the application, and notes what the server logs as an error."""

    app: Any
    registry: Registry
    lifecycle: Lifecycle
    faults: list[str]

    async def send(self, attempt: Attempt, seconds: float = 30) -> Answer:
        """The answer. A watch is left by the client as soon as its stream has begun."""
        answer, given = Answer(), asyncio.Event()
        body: list[bytes] = [attempt.body]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "scheme": "https",
            "method": attempt.method,
            "path": attempt.path,
            "raw_path": attempt.path.encode("utf-8", "replace"),
            "root_path": "",
            "query_string": attempt.query,
            "headers": list(attempt.headers),
            "server": ("server", 443),
            "client": ("client", 1),
        }

        async def receive() -> dict[str, Any]:
            if body:
                return {"type": "http.request", "body": body.pop(), "more_body": False}
            await given.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                assert not answer.code, "two answers to one request"
                answer.code = message["status"]
                for name, value in message["headers"]:
                    assert not re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value), (name, value)
                    answer.headers[name] = value
                return
            answer.body += bytes(message.get("body", b""))
            answer.complete = not message.get("more_body", False)
            if len(answer.body) or answer.complete:
                given.set()
            else:
                # The headers of a watch: give it a moment for its first events.
                asyncio.get_running_loop().call_later(0.005, given.set)

        async with asyncio.timeout(seconds):
            await self.app(scope, receive, send)
        if answer.headers.get(b"content-encoding") == b"gzip":
            answer.body = gzip.decompress(answer.body)
        return answer


def complaint(attempt: Attempt, answer: Answer) -> str:
    """What is wrong with an answer, or nothing."""
    if not answer.complete:
        return "the answer was broken off"
    if answer.code in {200, 201, 202, 304}:
        return ""
    if answer.code not in REASONS:
        return f"answered {answer.code}"
    if attempt.method == "HEAD":
        return "" if not answer.body else "a body for HEAD"
    return _status_complaint(answer)


def _status_complaint(answer: Answer) -> str:
    media_type = answer.headers.get(b"content-type")
    if media_type not in {b"application/json", b"application/yaml"}:
        return f"a failure in {media_type!r}"
    try:
        status = orjson.loads(answer.body) if media_type.endswith(b"json") else yaml.safe_load(answer.body)
    except ValueError as error:
        return f"the Status cannot be read: {error}"
    if (status.get("kind"), status.get("apiVersion"), status.get("status")) != ("Status", "v1", "Failure"):
        return "a failure that is no Status"
    if status.get("code") != answer.code:
        return f"code {status.get('code')} in the Status of a {answer.code}"
    if status.get("reason") not in REASONS[answer.code]:
        return f"reason {status.get('reason')} for {answer.code}"
    if not status.get("message"):
        return "a Status without message"
    return ""


def leak(body: bytes) -> str:
    """What in an answer tells of the program's insides, or nothing. Only for texts that the client did not
    send itself."""
    found = _INNER_LIFE.search(body)
    return f"tells of its insides: {found[0]!r}" if found else ""


@asynccontextmanager
async def target(
    folder: Path,
    *,
    authenticator: Authenticator | None = None,
    authorizer: Authorizer | None = None,
    core: bool = False,
    storage_at: str | EtcdOptions = "",
    **config: Any,
) -> AsyncIterator[Target]:
    """The application of `serve`, or with `core` that of `dev`, with nobody to ask but itself."""
    storage = await open_store(storage_at or f"sqlite://{folder}/objects.db")
    resources = (*RESOURCES, *CORE_RESOURCES) if core else RESOURCES
    registry, cache = build_registry(resources, storage, "/registry", AdmissionChain([]))
    lifecycle, faults = Lifecycle(), []
    chain = ChainConfig(
        authenticator or Administrator(),
        authorizer or local_authorizer(),
        lifecycle,
        is_complete=lambda: cache.ready,
        **config,
    )
    application = build_application(registry, HealthChecks(), chain)
    with structlog.testing.capture_logs(processors=[_noting(faults)]):
        async with asyncio.TaskGroup() as tasks:
            caching = tasks.create_task(cache.run())
            await cache.wait_ready()
            yield Target(application, registry, lifecycle, faults)
            caching.cancel()
    await storage.close()


def _noting(faults: list[str]) -> Any:
    def note(_logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
        if method in {"error", "critical", "exception"}:
            error = event.get("exc_info")
            text = "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else ""
            faults.append(f"{event}\n{text}")
        return {"event": ""}

    return note
