"""A coroutine as a process: signals from the first moment on, and an exit code that tells how it ended.
It must not know what is run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import structlog
import uvloop

from apiserver.server.lifecycle import Lifecycle
from certs import CertificateError
from storage.errors import StorageError

_log = structlog.get_logger(__name__)

Main = Callable[[Lifecycle], Coroutine[Any, Any, None]]


def run(main: Main, complain: Callable[[str], None]) -> int:
    """Run `main` until it ends or a signal says so; gives the exit code. Why it could not start goes to
    `complain`, failures later on go to the log."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(_until_told(main))
        except BaseExceptionGroup as group:
            for error in _leaves(group):
                _log.error("ended by a failure", error=str(error) or repr(error), exc_info=error)
            return 1
        except (OSError, RuntimeError, StorageError, CertificateError) as error:
            complain(str(error))
            return 1
    return 0


async def _until_told(main: Main) -> None:
    """Signals count from the first moment on: before there is a server to end in order, all is dropped."""
    lifecycle = Lifecycle()
    with lifecycle.signals():
        running = asyncio.ensure_future(main(lifecycle))
        told = asyncio.ensure_future(lifecycle.stopping.wait())
        try:
            await asyncio.wait((running, told), return_when=asyncio.FIRST_COMPLETED)
            if not lifecycle.serving.is_set():
                running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
        finally:
            told.cancel()


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found
