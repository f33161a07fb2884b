"""The loop that keeps the certificate fresh while the server runs. Owned by the caller's TaskGroup.

Each round asks the source to do what is due, and applies what it returns. A round that fails leaves the
certificate in use untouched and is tried again soon; `problem` says so to the health check, and the age of
the certificate decides there whether it matters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from certs.errors import CertificateError, PublishError
from certs.source import Material, Source

Apply = Callable[[Material], Awaitable[None]]
"""Puts new material to use (the server's TLS context); returns when new handshakes use it."""

Publish = Callable[[bytes], Awaitable[None]]
"""Hands the bundle (PEM, empty if there is none) to those who must trust it; returns when they have it. It
is called again and again, so it writes only what differs. Raises PublishError when that fails for now."""


def utc_now() -> datetime:
    """The system's clock."""
    return datetime.now(UTC)


async def publish_nothing(bundle: bytes) -> None:
    """A `Publish` for servers whose clients get the bundle in another way."""


class Rotator:
    """Drives one `Source`. `material` is what is in use."""

    def __init__(
        self,
        source: Source,
        material: Material,
        *,
        apply: Apply,
        publish: Publish = publish_nothing,
        interval: float = 60.0,
        retry: float = 5.0,
        step_timeout: float = 60.0,
        now: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`interval`, `retry` and `step_timeout` in seconds. `publish` is called in every round."""
        self.material = material
        self.problem = ""
        self._source = source
        self._apply = apply
        self._publish = publish
        self._published: bytes | None = None
        self._interval = interval
        self._retry = retry
        self._step_timeout = step_timeout
        self._now = now
        self._sleep = sleep

    async def run(self) -> None:
        """For ever; ends only by cancellation or by an error that is none of the expected ones."""
        while True:
            ok = await self.step()
            await self._sleep(self._interval if ok else self._retry)

    async def step(self) -> bool:
        """One round; False when it failed and `problem` says why."""
        try:
            async with asyncio.timeout(self._step_timeout):
                await self._round(self._now())
        except (CertificateError, PublishError) as error:
            self.problem = str(error)
            return False
        except TimeoutError:
            self.problem = f"a round took longer than {self._step_timeout:g} s"
            return False
        self.problem = ""
        return True

    def remaining(self) -> timedelta:
        """How long the certificate in use is still valid."""
        return self.material.not_after - self._now()

    async def _round(self, now: datetime) -> None:
        """Whatever can be applied is applied before the publication, which may fail for a long time.

        A rotation is finished one round after its bundle was published: every kube-apiserver learns of it
        through a watch, and none may meet a certificate whose authority it does not know yet.
        """
        await self._use(await self._source.load(now))
        bundle = self.material.ca_bundle_pem
        await self._publish(bundle)
        if bundle == self._published:
            await self._use(await self._source.finish(now, bundle))
        self._published = bundle

    async def _use(self, fresh: Material) -> None:
        if fresh != self.material:
            await self._apply(fresh)
            self.material = fresh
