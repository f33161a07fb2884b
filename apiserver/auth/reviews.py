"""Asking the host cluster for a review (TokenReview, SubjectAccessReview), with bounded time and few retries.

Source of the retries: `k8s.io/apiserver/pkg/util/webhook` (0.5 s × 1.5ⁿ, five tries, jitter 0.2; for
resets, 429, 500, 504 and whatever asks to be tried again).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from apiserver.machinery.errors import APIError

TRIES = 5
FIRST_PAUSE = 0.5
FACTOR = 1.5
JITTER = 0.2
_RETRIED = frozenset({429, 500, 504})


class Reviews(Protocol):
    """The part of the host cluster's client that is needed here.
    Failures are APIErrors, or `unreachable` ones.
    """

    async def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST `body` to `path` and return the answer."""
        ...


class ReviewError(Exception):
    """There is no review: the host cluster refused, or did not answer in time."""


class Reviewer:
    """One kind of review."""

    def __init__(
        self,
        reviews: Reviews,
        path: str,
        *,
        unreachable: tuple[type[Exception], ...] = (OSError,),
        timeout: float = 10.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`timeout` in seconds bounds all tries together."""
        self._reviews = reviews
        self._path = path
        self._failures: tuple[type[Exception], ...] = (*unreachable, APIError)
        self._timeout = timeout
        self._sleep = sleep

    async def review(self, body: dict[str, Any]) -> dict[str, Any]:
        """The review's `status`. Raises ReviewError."""
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._try(body)
        except TimeoutError as error:
            raise ReviewError(f"no answer within {self._timeout:g} s") from error
        status = answer.get("status")
        if not isinstance(status, dict):
            raise ReviewError("the answer has no status")
        return status

    async def _try(self, body: dict[str, Any]) -> dict[str, Any]:
        pause = FIRST_PAUSE
        for attempt in range(1, TRIES + 1):
            try:
                return await self._reviews.create(self._path, body)
            except self._failures as error:
                if attempt == TRIES or not _is_worth_another(error):
                    raise ReviewError(str(error)) from error
            await self._sleep(pause * (1 + JITTER * random.random()))  # noqa: S311 - spreads load, no secret
            pause *= FACTOR
        raise AssertionError("unreachable")


def _is_worth_another(error: Exception) -> bool:
    return not isinstance(error, APIError) or error.code in _RETRIED or error.retry_after_seconds > 0
