"""/healthz, /livez and /readyz: named checks that tell the truth, in kube-apiserver's text form.

Source of the form: `k8s.io/apiserver/pkg/server/healthz`. Reasons go to the log, and to known users on the
path of a single check, because anybody may read these paths. Checks are bounded in time: one that hangs has
failed. What is checked is decided by who registers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import structlog
from fastapi import APIRouter
from starlette.requests import Request as HTTPRequest

from apiserver.auth.user import ALL_AUTHENTICATED
from apiserver.endpoints.plain_answer import NO_SNIFF, TEXT, Answer, kube
from apiserver.endpoints.request import Request
from apiserver.machinery import errors
from apiserver.observability import http_metrics

_log = structlog.get_logger()

Endpoint = Literal["healthz", "livez", "readyz"]
ENDPOINTS: tuple[Endpoint, ...] = ("healthz", "livez", "readyz")
CHECK_TIMEOUT = 2.0
"""Seconds that a check may take."""


class UnhealthyError(Exception):
    """What a check raises; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Check:
    """A named check: `run` returns when all is well and raises when it is not."""

    name: str
    run: Callable[[], Awaitable[None]]


async def ping() -> None:
    """Always well: whoever can answer is alive."""


def event_check(name: str, is_set: Callable[[], bool], reason: str, *, healthy_when: bool = True) -> Check:
    """A check of a flag, failing with `reason`."""

    async def run() -> None:
        if is_set() != healthy_when:
            raise UnhealthyError(reason)

    return Check(name, run)


class HealthChecks:
    """The checks of the three endpoints. Register before serving; the order is the order of the lines."""

    def __init__(self, timeout: float = CHECK_TIMEOUT) -> None:
        self._timeout = timeout
        self._checks: dict[Endpoint, dict[str, Check]] = {endpoint: {} for endpoint in ENDPOINTS}
        self._failing: dict[Endpoint, dict[str, str]] = {endpoint: {} for endpoint in ENDPOINTS}
        self.add(Check("ping", ping))

    def add(self, check: Check, endpoints: Iterable[Endpoint] = ENDPOINTS) -> None:
        """Register a check. Raises ValueError when its name is taken."""
        for endpoint in endpoints:
            if check.name in self._checks[endpoint]:
                raise ValueError(f"there is a check named {check.name!r} at /{endpoint} already")
            self._checks[endpoint][check.name] = check

    def names(self, endpoint: Endpoint) -> tuple[str, ...]:
        """The names of an endpoint's checks."""
        return tuple(self._checks[endpoint])

    def paths(self) -> list[str]:
        """Every path served."""
        return [
            path
            for endpoint in ENDPOINTS
            for path in (f"/{endpoint}", *(f"/{endpoint}/{name}" for name in self._checks[endpoint]))
        ]

    async def run(self, endpoint: Endpoint, names: Iterable[str]) -> dict[str, str]:
        """Run some of an endpoint's checks side by side; the reason of each that failed."""
        chosen = [self._checks[endpoint][name] for name in names]
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(self._reason(check)) for check in chosen]
        results = {check.name: task.result() for check, task in zip(chosen, running, strict=True)}
        for name, reason in results.items():
            http_metrics.HEALTH.labels(name, endpoint).set(0 if reason else 1)
        failed = {name: reason for name, reason in results.items() if reason}
        self._log_changes(endpoint, results, failed)
        return failed

    async def _reason(self, check: Check) -> str:
        try:
            async with asyncio.timeout(self._timeout):
                await check.run()
        except TimeoutError:
            return f"no result within {self._timeout:g} s"
        except Exception as error:
            # A check that breaks has failed; why is logged once, when it begins to.
            return str(error) or repr(error)
        return ""

    def _log_changes(self, endpoint: Endpoint, results: dict[str, str], failed: dict[str, str]) -> None:
        known = self._failing[endpoint]
        for name in results:
            if name in failed and name not in known:
                known[name] = failed[name]
                _log.warning("health check failed", endpoint=endpoint, check=name, reason=failed[name])
            elif name not in failed and name in known:
                del known[name]
                _log.info("health check passes again", endpoint=endpoint, check=name)


def router(checks: HealthChecks) -> APIRouter:
    """The routes of the three endpoints and of each check."""
    routes = APIRouter()

    def install(endpoint: Endpoint) -> None:
        @routes.api_route(f"/{endpoint}", methods=["GET", "HEAD"])
        async def everything(http: HTTPRequest) -> Answer:
            return await _everything(checks, endpoint, kube(http))

        @routes.api_route(f"/{endpoint}/{{name:path}}", methods=["GET", "HEAD"])
        async def one(name: str, http: HTTPRequest) -> Answer:
            if not name:
                return await _everything(checks, endpoint, kube(http))
            return await _one(checks, endpoint, name, kube(http))

    for endpoint in ENDPOINTS:
        install(endpoint)
    return routes


async def _everything(checks: HealthChecks, endpoint: Endpoint, request: Request) -> Answer:
    excluded = set(request.query.get("exclude", ()))
    names = checks.names(endpoint)
    failed = await checks.run(endpoint, [name for name in names if name not in excluded])
    lines = [_line(name, name in excluded, name in failed) for name in names]
    unknown = sorted(excluded - set(names))
    if unknown:
        listed = ",".join(f'"{_quoted(name)}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}\n")
    text = "".join(lines)
    if failed:
        return Answer(f"{text}{endpoint} check failed\n".encode(), TEXT, 500, (NO_SNIFF,))
    if "verbose" not in request.query:
        return Answer(b"ok", TEXT, headers=(NO_SNIFF,))
    return Answer(f"{text}{endpoint} check passed\n".encode(), TEXT, headers=(NO_SNIFF,))


def _line(name: str, excluded: bool, failed: bool) -> str:
    if excluded:
        return f"[+]{name} excluded: ok\n"
    return f"[-]{name} failed: reason withheld\n" if failed else f"[+]{name} ok\n"


def _quoted(text: str) -> str:
    return text.encode("unicode_escape").decode().replace('"', '\\"')


async def _one(checks: HealthChecks, endpoint: Endpoint, name: str, request: Request) -> Answer:
    if name not in checks.names(endpoint):
        raise errors.no_such_path()
    failed = await checks.run(endpoint, [name])
    if failed:
        known = request.user is not None and ALL_AUTHENTICATED in request.user.groups
        reason = failed[name] if known else "reason withheld"
        return Answer(f"internal server error: {reason}\n".encode(), TEXT, 500, (NO_SNIFF,))
    return Answer(b"ok", TEXT)
