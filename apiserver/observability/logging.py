"""Logs: one structured line an event, JSON for machines and coloured text for a terminal.

Verbosity is klog's `-v`: 0 tells what an operator must know, 3 adds a line a request, 4 and more are for
debugging. Libraries that log through the standard library come out in the same form.
"""

from __future__ import annotations

import logging
import sys
from typing import IO, Any

import structlog
from structlog.typing import Processor

ACCESS_LOG_LEVEL = 3
DEBUG_LEVEL = 4

_QUIET_LIBRARIES = ("uvicorn", "uvicorn.error", "uvicorn.access", "kubernetes", "asyncio", "grpc", "aiohttp")


class _Verbosity:
    """The `-v` of this process; a holder, so that it can be changed while running."""

    level = 0


def verbosity() -> int:
    """The level that `-v` gave."""
    return _Verbosity.level


def configure_logging(level: int = 0, stream: IO[str] | None = None, *, as_json: bool | None = None) -> None:
    """Send every log of this process to `stream` (standard error). JSON unless that is a terminal."""
    _Verbosity.level = level
    target = stream if stream is not None else sys.stderr
    machine = not target.isatty() if as_json is None else as_json
    threshold = logging.DEBUG if level >= DEBUG_LEVEL else logging.INFO
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        structlog.processors.StackInfoRenderer(),
    ]
    final: list[Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_dumps)]
        if machine
        # A plain traceback: the prettier one shows local variables, and with them secrets.
        else [
            structlog.dev.ConsoleRenderer(
                colors=target.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)
    for name in _QUIET_LIBRARIES:
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
        library.setLevel(threshold if level >= DEBUG_LEVEL else logging.WARNING)


def _dumps(event: Any, **_: Any) -> str:
    import orjson

    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
