"""The HTTP protocol on a connection: uvicorn's, plus what an API server needs of it.

- The peer's certificate, read once a connection, is in the scope of each of its requests.
- Heads are bounded in size and time, so that slow or endless ones do not hold memory or sockets.
- What fails before there is a request is answered with a `metav1.Status`, as everything else.
- A request that is answered before its body has arrived does not keep the connection for long; nor does a
  connection outlast the moment when certificates begin to be asked for.
- A peer that takes nothing of an answer is cut off, and so is one whose next request waits behind a watch:
  while that waits nothing is read, so that nobody would notice that the peer has gone.

Must not know who the peer is: whether the certificate is good is decided in `auth`.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
from asyncio.events import TimerHandle
from collections.abc import Mapping
from typing import Any

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from apiserver.machinery.errors import APIError
from apiserver.server.transport import PatientTransport

KEEP_ALIVE_SECONDS = 150
"""For uvicorn's `timeout_keep_alive`. kube-apiserver reuses idle connections for 90 s: ours must live longer.
"""

MAX_HEAD_BYTES = 1 << 20
"""Request line and headers together: Go's default (http.DefaultMaxHeaderBytes)."""

MAX_URL_BYTES = 65535
"""What the parser takes of path and query."""

HEAD_SECONDS = 32.0
"""From the first byte of a request (or from the handshake) to the end of its headers,
as kube-apiserver has it.
"""

LINGER_SECONDS = 5.0
"""How long the rest of a body is read after the answer, so that the client gets to read that."""

STALL_SECONDS = 60.0
"""How long a peer may take nothing at all of what is waiting for it."""

MAX_WAITING_BYTES = 256 * 1024
"""Bytes that may wait for the peer before whoever writes has to wait."""

PIPELINE_SECONDS = 120.0
"""How long a request may wait behind the one before: longer than any but a watch takes."""

_METHOD = re.compile(rb"\s*[A-Za-z!#$%&'*+.^_`|~-]{1,40} (?:/|\*|https?:)")
_METHOD_BYTES = 64

PEER_CERTIFICATE = "client_cert_der"
PEER_INTERMEDIATES = "client_intermediates_der"


def peer_certificates(scope: Mapping[str, Any]) -> tuple[bytes | None, tuple[bytes, ...]]:
    """The peer's certificate and whatever came with it, in DER, unverified; None if it showed none."""
    tls = (scope.get("extensions") or {}).get("tls") or {}
    return tls.get(PEER_CERTIFICATE), tls.get(PEER_INTERMEDIATES, ())


class APIProtocol(HttpToolsProtocol):
    """For uvicorn's `http` setting."""

    max_head_bytes = MAX_HEAD_BYTES
    stall_seconds = STALL_SECONDS
    pipeline_seconds = PIPELINE_SECONDS
    head_seconds = HEAD_SECONDS
    linger_seconds = LINGER_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._extensions: dict[str, Any] = {}
        self._asked = False
        self._head_bytes = 0
        self._in_head = True
        self._beginning = b""
        self._timer: TimerHandle | None = None
        self._stall: TimerHandle | None = None
        self._queue: TimerHandle | None = None
        self._running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Read the peer's certificate; the handshake is over by now."""
        self._patient = PatientTransport(transport, self)
        super().connection_made(self._patient)  # type: ignore[arg-type]
        transport.set_write_buffer_limits(high=MAX_WAITING_BYTES)
        self._extensions = tls_extension(transport)
        self._asked = asks_for_certificates(self.config.ssl)
        self._start(self.head_seconds, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers, and tell the request that is being answered (the base class tells the last one
        that came in)."""
        self._stop()
        self.resume_writing()
        self._stop_waiting()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._disconnect(self._running)
        self._running = None
        self._patient.detach()

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head before parsing it."""
        if not (self._in_head and self._head_bytes):
            self._beginning = data[:_METHOD_BYTES]
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            if self._head_bytes > self.max_head_bytes:
                self.refuse(431, "RequestHeaderFieldsTooLarge", "the request's headers are too large")
            elif self._timer is None:
                self._start(self.head_seconds, self._head_is_late)

    def on_message_begin(self) -> None:
        """A request begins: give its scope what is known of the peer."""
        super().on_message_begin()
        self.scope["extensions"] = self._extensions
        if not self._in_head:
            self._in_head = True
            self._head_bytes = (
                1  # the rest of what has just come in is not counted: it is bounded by one read
            )

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head = False
        self._stop()
        super().on_headers_complete()
        if not self._asked and asks_for_certificates(self.config.ssl):
            # Made before any authority was known: the peer could not show what it needs to show now.
            self.cycle.keep_alive = False
        if self.pipeline and self._queue is None:
            self._queue = self.loop.call_later(self.pipeline_seconds, self.transport.abort)

    def on_response_complete(self) -> None:
        """Answered. A client that is still sending the body may finish soon or be cut off."""
        self._stop_waiting()
        super().on_response_complete()
        if self.pipeline and not self.transport.is_closing():
            self._queue = self.loop.call_later(self.pipeline_seconds, self.transport.abort)
        if self.lingers and not self.transport.is_closing():
            self._start(self.linger_seconds, self._stop_lingering)

    @property
    def lingers(self) -> bool:
        """Whether the last request has been answered and its body is still coming in."""
        return self.cycle is not None and self.cycle.response_complete and self.cycle.more_body

    def on_message_complete(self) -> None:
        """The body is whole as well."""
        super().on_message_complete()
        if self.cycle.response_complete:
            self._stop_lingering(keep=self.cycle.keep_alive)

    def _stop_lingering(self, *, keep: bool = False) -> None:
        self.cycle.more_body = False
        self._stop()
        if keep:
            self._rest()
        else:
            self.transport.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """The peer is slower than the answer: whoever writes waits, and the peer has to take something."""
        super().pause_writing()
        self._await_progress(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The peer has caught up."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def send_400_response(self, msg: str) -> None:
        """Called by the base class, while it handles the parser's error, for what is no HTTP."""
        method = isinstance(sys.exc_info()[1], httptools.HttpParserInvalidMethodError)
        if method and _METHOD.match(self._beginning):
            self.refuse(405, "MethodNotAllowed", "the server does not allow this method on any resource")
        elif len(self.url) > MAX_URL_BYTES:
            self.refuse(414, "RequestURITooLong", f"the path and query may have {MAX_URL_BYTES} bytes")
        else:
            self.refuse(400, "BadRequest", msg)

    def refuse(self, code: int, reason: str, message: str) -> None:
        """Answer with a Status and close; for failures before there is a request,
        or in the middle of its bytes.
        """
        if self._take_over():
            body = orjson.dumps(APIError(code, reason, message).status())
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(
                body
            )
            self.transport.write(STATUS_LINE[code] + head + body)
        self.cycle = None  # type: ignore[assignment]
        self.transport.close()

    def _take_over(self) -> bool:
        """Whether the next bytes on the connection are for us to write: no answer is under way or queued."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return not self.lingers
        if cycle.response_started or cycle is not self._running:
            return False
        # The body turned out to be broken: nobody else answers this request any more.
        self._disconnect(cycle)
        return True

    @staticmethod
    def _disconnect(cycle: RequestResponseCycle) -> None:
        cycle.disconnected = True
        cycle.message_event.set()

    def _await_progress(self, waiting: int) -> None:
        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left >= waiting:
                self.transport.abort()
            else:
                self._await_progress(left)

        self._stall = self.loop.call_later(self.stall_seconds, look)

    def _stop_waiting(self) -> None:
        if self._queue is not None:
            self._queue.cancel()
            self._queue = None

    def _unsupported_upgrade_warning(self) -> None:
        # HTTP ends here for the parser: answer the request, then close.
        self.cycle.keep_alive = False

    def _head_is_late(self) -> None:
        if self.transport.is_closing():
            return
        if self._head_bytes:
            self.refuse(408, "Timeout", "the request's headers did not arrive in time")
        else:
            self.transport.close()

    def _rest(self) -> None:
        """Idle again: wait for the next request for as long as after any other."""
        if self.timeout_keep_alive_task is None and not self.pipeline and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _start(self, seconds: float, action: Any) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, action)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def asks_for_certificates(context: ssl.SSLContext | None) -> bool:
    """Whether handshakes that start now ask the client for a certificate."""
    return context is not None and context.verify_mode != ssl.CERT_NONE


def tls_extension(transport: asyncio.BaseTransport) -> dict[str, Any]:
    """The ASGI `extensions` for requests on this connection."""
    connection = transport.get_extra_info("ssl_object")
    if connection is None:
        return {}
    leaf = connection.getpeercert(binary_form=True)
    tls: dict[str, Any] = {"tls_version": connection.version(), PEER_CERTIFICATE: leaf}
    if leaf is not None:
        tls[PEER_INTERMEDIATES] = _intermediates(connection, leaf)
    return {"tls": tls}


def _intermediates(connection: Any, leaf: bytes) -> tuple[bytes, ...]:
    """What the peer sent beside its own certificate. Public API from Python 3.13 on; before, an inner
    object has it.
    """
    getter = getattr(connection, "get_unverified_chain", None)
    if getter is not None:
        return tuple(item for item in getter() if item != leaf)
    getter = getattr(getattr(connection, "_sslobj", None), "get_unverified_chain", None)
    if getter is None:
        return ()
    chain = (bytes(item.public_bytes(2)) for item in getter() or ())  # 2: DER (_ssl.ENCODING_DER)
    return tuple(item for item in chain if item != leaf)
