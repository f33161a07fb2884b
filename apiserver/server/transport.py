"""What stands between a connection's protocol and its transport: writing in one, closing in good time, and
letting go.

Of HTTP it must know no more than how an answer begins.
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

_ANSWER = b"HTTP/"
_SMALL = 16 * 1024
"""Bytes up to which pieces are joined; copying larger ones would cost more than it saves."""


class PatientTransport:
    """A transport that is not closed while the rest of a body that nobody wants is coming in: the kernel
    would answer that with a reset, which takes the answer away from the client before it has read it.

    The head of an answer waits for the body that follows at once, or for the loop's next turn: two writes
    are two TLS records and two system calls, a tenth of what a GET costs.
    """

    def __init__(self, transport: asyncio.Transport, protocol: Lingering) -> None:
        self._transport: Any = transport
        self._protocol: Lingering | None = protocol
        self._call_soon = asyncio.get_running_loop().call_soon
        self._head = b""

    def write(self, data: bytes | memoryview) -> None:
        """Send, but for a head, which waits a moment."""
        if self._head and len(data) <= _SMALL:
            head, self._head = self._head, b""
            data = head + data
        elif self._head:
            self.flush()
        elif len(data) <= _SMALL and data[: len(_ANSWER)] == _ANSWER:
            self._head = bytes(data)
            self._call_soon(self.flush)
            return
        self._transport.write(data)

    def flush(self) -> None:
        """Send the head if it still waits."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def close(self) -> None:
        """Close, unless the protocol is going to."""
        self.flush()
        if self._protocol is None or not self._protocol.lingers:
            self._transport.close()

    def detach(self) -> None:
        """Let go of a connection that is lost. Else it would hold itself in a circle, with all that waited
        for the peer, until the garbage collector looks at what is old; and late writes would fail.
        """
        self._transport, self._protocol, self._head = _LOST, None, b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
