"""The cluster as installer and uninstaller use it: apply, look, delete, wait. It knows not what is installed.

Objects are applied on the server under our own field manager, so that fields which others own stay theirs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

from apiserver.machinery.errors import APIError
from deploy.errors import DeployError
from deploy.objects import Object, describe, path_of

FIELD_MANAGER = "inference-apiserver-install"
APPLY_PATCH = "application/apply-patch+yaml"
POLL_SECONDS = 1.0
PROGRESS_SECONDS = 10.0

Report = Callable[[str], None]
Outcome = Literal["created", "configured", "unchanged"]


class Client(Protocol):
    """What is needed of a client of the cluster. Failures: `APIError` for an answer, `OSError` for none."""

    async def get(self, path: str, *, query: Mapping[str, str] | None = None) -> Object:
        """Read."""
        ...

    async def patch(
        self, path: str, body: Any, *, content_type: str = ..., query: Mapping[str, str] | None = None
    ) -> Object:
        """PATCH."""
        ...

    async def delete(self, path: str, body: Object | None = None) -> Object:
        """DELETE."""
        ...


class Cluster:
    """One cluster. `sleep` and `monotonic` are replaced by tests."""

    def __init__(
        self,
        client: Client,
        report: Report,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self.report = report
        self._sleep = sleep
        self._monotonic = monotonic

    async def find(self, path: str) -> Object | None:
        """The object at a path, or None."""
        try:
            return await self._client.get(path)
        except APIError as error:
            if error.code == 404:
                return None
            raise DeployError(f"{path}: {error.message}") from error
        except OSError as error:
            raise DeployError(f"the cluster cannot be reached: {error}") from error

    async def items(self, path: str, query: Mapping[str, str]) -> list[Object]:
        """The items of a collection. What may not be read counts as nothing: it is only evidence."""
        try:
            found = await self._client.get(path, query=query)
        except (APIError, OSError):
            return []
        items: list[Object] = found.get("items") or []
        return items

    async def apply(self, obj: Object) -> Outcome:
        """Make the object as it should be, and say so."""
        path = path_of(obj)
        before = await self.find(path)
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        try:
            after = await self._client.patch(path, obj, content_type=APPLY_PATCH, query=query)
        except APIError as error:
            raise DeployError(f"{describe(obj)}: {error.message}") from error
        except OSError as error:
            raise DeployError(f"the cluster cannot be reached: {error}") from error
        outcome = _outcome(before, after)
        self.report(f"{describe(obj)}: {outcome}")
        return outcome

    async def delete(self, obj: Object, timeout_seconds: float) -> bool:
        """Delete an object and wait until it is gone; False when it was not there."""
        path = path_of(obj)
        try:
            await self._client.delete(path, {"propagationPolicy": "Background"})
        except APIError as error:
            if error.code == 404:
                return False
            raise DeployError(f"{describe(obj)}: {error.message}") from error
        except OSError as error:
            raise DeployError(f"the cluster cannot be reached: {error}") from error

        async def gone() -> str:
            found = await self.find(path)
            finalizers = ((found or {}).get("metadata") or {}).get("finalizers") or []
            return "" if found is None else f"still there, finalizers: {', '.join(finalizers) or 'none'}"

        await self.wait(f"{describe(obj)} to go away", gone, timeout_seconds)
        self.report(f"{describe(obj)}: deleted")
        return True

    async def wait(self, what: str, missing: Callable[[], Awaitable[str]], timeout_seconds: float) -> None:
        """Call `missing` until it returns an empty string; say from time to time what it returns.

        Raises DeployError with the last answer after `timeout_seconds`.
        """
        begin = told = self._monotonic()
        said = ""
        while reason := await missing():
            now = self._monotonic()
            if now - begin >= timeout_seconds:
                raise DeployError(f"waited {timeout_seconds:g} s for {what}: {reason}")
            if reason != said or now - told >= PROGRESS_SECONDS:
                self.report(f"waiting for {what}: {reason}")
                said, told = reason, now
            await self._sleep(POLL_SECONDS)


def _outcome(before: Object | None, after: Object) -> Outcome:
    if before is None:
        return "created"
    same = before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion")
    return "unchanged" if same else "configured"
