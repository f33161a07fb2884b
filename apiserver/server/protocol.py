"""The HTTP protocol on a connection: uvicorn's, plus what an API server needs of it.

- The peer's certificate, read once a connection, is in the scope of each of its requests.
- Heads are bounded in size and time, so that slow or endless ones do not hold memory or sockets.
- What fails before there is a request is answered with a `metav1.Status`, as everything else.
- A request that is answered before its body has arrived does not keep the connection for long; nor does a
  connection outlast the moment when certificates begin to be asked for.

Must not know who the peer is: whether the certificate is good is decided in `auth`.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.events import TimerHandle
from collections.abc import Mapping
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from apiserver.machinery.errors import APIError

KEEP_ALIVE_SECONDS = 150
"""For uvicorn's `timeout_keep_alive`. kube-apiserver reuses idle connections for 90 s: ours must live
longer.
"""

MAX_HEAD_BYTES = 1 << 20
"""Request line and headers together: Go's default (http.DefaultMaxHeaderBytes)."""

HEAD_SECONDS = 32.0
"""From the first byte of a request (or from the handshake) to the end of its headers, as kube-apiserver has
it.
"""

LINGER_SECONDS = 5.0
"""How long the rest of a body is read after the answer, so that the client gets to read that."""

PEER_CERTIFICATE = "client_cert_der"
PEER_INTERMEDIATES = "client_intermediates_der"


def peer_certificates(scope: Mapping[str, Any]) -> tuple[bytes | None, tuple[bytes, ...]]:
    """The peer's certificate and whatever came with it, in DER, unverified; None if it showed none."""
    tls = (scope.get("extensions") or {}).get("tls") or {}
    return tls.get(PEER_CERTIFICATE), tls.get(PEER_INTERMEDIATES, ())


class APIProtocol(HttpToolsProtocol):
    """For uvicorn's `http` setting."""

    max_head_bytes = MAX_HEAD_BYTES
    head_seconds = HEAD_SECONDS
    linger_seconds = LINGER_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._extensions: dict[str, Any] = {}
        self._asked = False
        self._head_bytes = 0
        self._in_head = True
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Read the peer's certificate; the handshake is over by now."""
        super().connection_made(transport)
        self._extensions = tls_extension(transport)
        self._asked = asks_for_certificates(self.config.ssl)
        self._start(self.head_seconds, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._stop()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head before parsing it."""
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

    def on_response_complete(self) -> None:
        """Answered. A client that is still sending the body may finish soon or be cut off."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body and not self.transport.is_closing():
            self._start(self.linger_seconds, self.transport.close)

    def on_message_complete(self) -> None:
        """The body is whole as well."""
        super().on_message_complete()
        if self.cycle.response_complete:
            self.cycle.more_body = False
            self._stop()
            self._rest()

    def send_400_response(self, msg: str) -> None:
        """Called by the base class for what is no HTTP."""
        self.refuse(400, "BadRequest", msg)

    def refuse(self, code: int, reason: str, message: str) -> None:
        """Answer with a Status and close; for failures before there is a request, or in the middle of its
        bytes.
        """
        if self.cycle is None or self.cycle.response_complete:
            body = orjson.dumps(APIError(code, reason, message).status())
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(
                body
            )
            self.transport.write(STATUS_LINE[code] + head + body)
        self.transport.close()

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
