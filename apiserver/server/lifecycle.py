"""From listening to the last byte: the server's life and its orderly end.

The end has named steps, in this order (a contract with load balancers and with the aggregator):

1. `stopping`: a signal came. `/readyz` fails at once, everything else goes on, so that traffic moves away.
2. `refusing`: after the shutdown delay the listener closes and no new request is taken; others finish.
3. `ending_watches`: once they have, or their time is up, watches are told to end with a clean final chunk.
4. Whatever still runs after the grace period is cancelled.

It must not know what is served. Only this package uses uvicorn.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
import uvicorn
from starlette.types import ASGIApp

from apiserver.server.protocol import KEEP_ALIVE_SECONDS, APIProtocol

_log = structlog.get_logger()

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds. `keep_alive` must be above the 90 s for which kube-apiserver keeps idle connections."""

    shutdown_delay: float = 0.0
    drain: float = 60.0
    watch_grace: float = 10.0
    keep_alive: float = KEEP_ALIVE_SECONDS


class Lifecycle:
    """Where the server is in its life. Filters and health checks look at it; `serve` moves it on."""

    def __init__(self) -> None:
        self.serving = asyncio.Event()
        self.stopping = asyncio.Event()
        self.refusing = asyncio.Event()
        self.ending_watches = asyncio.Event()
        self.requests = 0
        self.watches = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def stop(self) -> None:
        """Begin the orderly end. Calling it again changes nothing."""
        self.stopping.set()

    def enter(self, *, watch: bool) -> None:
        """A request begins."""
        if watch:
            self.watches += 1
        else:
            self.requests += 1
            self._idle.clear()

    def leave(self, *, watch: bool) -> None:
        """A request has been answered, or has failed."""
        if watch:
            self.watches -= 1
            return
        self.requests -= 1
        if not self.requests:
            self._idle.set()

    async def drained(self, timeout: float) -> bool:
        """Wait until no request is under way; False when that took longer than `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    @contextmanager
    def signals(self) -> Iterator[None]:
        """SIGTERM or SIGINT begins the orderly end; a second one ends the process at once."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _on_signal(self, number: int) -> None:
        if self.stopping.is_set():
            _log.warning("second signal, exiting at once", signal=signal.Signals(number).name)
            # Nothing is lost: every acknowledged write is in storage already.
            os._exit(1)
        _log.info("shutting down", signal=signal.Signals(number).name)
        self.stop()


class _Server(uvicorn.Server):
    """uvicorn without signal handlers of its own, which says when it listens."""

    def __init__(self, config: uvicorn.Config, lifecycle: Lifecycle) -> None:
        super().__init__(config)
        self._lifecycle = lifecycle

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the business of `Lifecycle`."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self._lifecycle.serving.set()


async def serve(
    app: ASGIApp,
    sockets: Sequence[socket.socket],
    lifecycle: Lifecycle,
    *,
    tls: ssl.SSLContext | None = None,
    protocol: type[asyncio.Protocol] = APIProtocol,
    timings: Timings = Timings(),
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Serve on bound sockets until `lifecycle.stop()`, then end in order. Returns when all is closed.

    Run it inside the owner's TaskGroup: a server that dies raises here and takes its siblings down with it.
    `sleep` passes the shutdown delay; tests give their own.
    """
    server = _Server(_config(app, tls, protocol, timings), lifecycle)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve(list(sockets)), name="http-server")
        await lifecycle.stopping.wait()
        await sleep(timings.shutdown_delay)
        lifecycle.refusing.set()
        server.should_exit = True
        if not await lifecycle.drained(timings.drain):
            _log.warning("requests still under way at shutdown", requests=lifecycle.requests)
        lifecycle.ending_watches.set()


def _config(
    app: ASGIApp, tls: ssl.SSLContext | None, protocol: type[asyncio.Protocol], timings: Timings
) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=math.ceil(timings.keep_alive),
        timeout_graceful_shutdown=math.ceil(timings.drain + timings.watch_grace),
        ssl_context_factory=(lambda _config, _default: tls) if tls is not None else None,
    )


def bind(address: str, port: int) -> socket.socket:
    """A listening socket for an address and a port (0: any free one). Raises OSError when that is taken."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and address == "::":
            # An unspecified IPv6 address takes IPv4 too, as Go's listener does.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.setblocking(False)
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock
