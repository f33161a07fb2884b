"""What stands between a connection's protocol and its transport: closing in good time, and letting go.

Must not know of HTTP.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol


class Lingering(Protocol):
    """A protocol that may want to read on before the connection is closed."""

    @property
    def lingers(self) -> bool:
        """Whether it does so now."""
        ...


class _Lost:
    """The transport of a connection that is no more."""

    def is_closing(self) -> bool:
        return True

    def nothing(self, *_: Any) -> None:
        pass

    write = close = abort = pause_reading = resume_reading = nothing


_LOST = _Lost()


class PatientTransport:
    """A transport that is not closed while the rest of a body that nobody wants is coming in: the kernel
    would answer that with a reset, which takes the answer away from the client before it has read it.
    """

    def __init__(self, transport: asyncio.Transport, protocol: Lingering) -> None:
        self._transport: Any = transport
        self._protocol: Lingering | None = protocol
        self.write: Any = transport.write

    def close(self) -> None:
        """Close, unless the protocol is going to."""
        if self._protocol is None or not self._protocol.lingers:
            self._transport.close()

    def detach(self) -> None:
        """Let go of a connection that is lost. Else it would hold itself in a circle, with all that waited
        for the peer, until the garbage collector looks at what is old; and late writes would fail.
        """
        self._transport, self._protocol, self.write = _LOST, None, _LOST.write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
