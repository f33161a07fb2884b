"""Following a collection for ever: the state first, then every change; from the start again when history is
gone. And going on when the server has trouble for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from apiserver.machinery.errors import APIError
from apiserver.simulator.objects import Objects

_log = structlog.get_logger(__name__)

Object = dict[str, Any]
Sleep = Callable[[float], Awaitable[None]]

RETRY_SECONDS = 1.0


async def follow(objects: Objects, resource: str, since: str = "0") -> AsyncIterator[tuple[str, Object]]:
    """Event types and objects after the revision `since`, bookmarks left out. An object may be told again;
    that it is there is enough to know."""
    version = since
    while True:
        try:
            async for event in objects.watch(resource, resource_version=version):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    yield event["type"], event["object"]
        except APIError as error:
            if error.code != 410:
                raise
            version = "0"


async def persist(work: Callable[[], Awaitable[None]], sleep: Sleep = asyncio.sleep) -> None:
    """Do work that begins with the present state, and begin again after trouble of the server's. What else it
    raises is a fault of the program."""
    while True:
        try:
            await work()
        except* APIError as group:
            _log.warning("beginning again after trouble", error=str(group.exceptions[0]))
            if group.split(_is_trouble)[1] is not None:
                raise
        await sleep(RETRY_SECONDS)


def _is_trouble(error: BaseException) -> bool:
    return isinstance(error, APIError) and error.code >= 500


@contextmanager
def unless(*codes: int) -> Iterator[None]:
    """Let API errors of these codes pass: somebody else has done it, or the next event tells what is left."""
    try:
        yield
    except APIError as error:
        if error.code not in codes:
            raise
