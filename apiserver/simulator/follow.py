"""Following a collection for ever: the state first, then every change; from the start again when history is
gone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from apiserver.machinery.errors import APIError
from apiserver.simulator.objects import Objects

Object = dict[str, Any]


async def follow(objects: Objects, resource: str) -> AsyncIterator[tuple[str, Object]]:
    """Event types and objects, bookmarks left out. An object may be told again; that it is there is enough
    to know."""
    while True:
        try:
            version = "0"
            while True:
                async for event in objects.watch(resource, resource_version=version):
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        yield event["type"], event["object"]
        except APIError as error:
            if error.code != 410:
                raise
