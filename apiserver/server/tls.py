"""The TLS context: one that lives as long as the server, while certificates and authorities change under it.

How a change gets in: Python passes one context to the listener, and each handshake starts from it. Its SNI
callback, which OpenSSL calls in every handshake (with or without a server name), hands the connection to
the context of the moment. That one is built whole and then put in place, so a bad certificate leaves the
good one in use, no handshake sees a half of each, and open connections go on undisturbed. An authority that
is taken away is gone at once, which `load_verify_locations` on a live context, being able only to add,
could not do.

Client certificates are asked for but not required, and must chain to the client authority *or* the front
proxy's one: TLS knows only one set. So a verified handshake says too little, and `auth` verifies the
certificate again, against exactly the bundle that counts for the claim at hand.

What Python cannot do: Go asks for a certificate without verifying it (`RequestClientCert`) and answers 401
later. The `ssl` module has no such mode (CERT_OPTIONAL verifies whatever is sent; there is no verify
callback), so a client that shows a certificate of an unknown authority, or an expired one, gets a TLS alert
and no answer. While no authority is known at all, none is asked for, so such clients can still use tokens.
Partial chains are accepted, as in Go: every certificate of a bundle is an anchor.

HTTP/1.1 alone is offered: the server speaks nothing else. Must not know where certificates come from.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2: forward secrecy and authenticated encryption only, in the order of Go's defaults."""


class TLSError(Exception):
    """A certificate, key or bundle that OpenSSL does not take."""


class ServerTLS:
    """Owns the context. All methods are to be called in the event loop's thread; none waits."""

    def __init__(self, cert_pem: bytes, key_pem: bytes, authorities: Sequence[bytes] = ()) -> None:
        """PEM. `authorities` are the bundles that client certificates may chain to. Raises TLSError."""
        self._cert_pem = cert_pem
        self._key_pem = key_pem
        self._authorities = tuple(authorities)
        self._current = self._build()
        self.context = _base()
        """For the listener."""
        self.context.sni_callback = self._choose
        self._apply()

    def set_certificate(self, cert_pem: bytes, key_pem: bytes) -> None:
        """Show another certificate in handshakes from now on. Raises TLSError, and then changes nothing."""
        self._change(cert_pem, key_pem, self._authorities)

    def set_authorities(self, authorities: Sequence[bytes]) -> None:
        """Accept client certificates of these bundles alone from now on.
        Raises TLSError, and then changes nothing.
        """
        self._change(self._cert_pem, self._key_pem, tuple(authorities))

    def _change(self, cert_pem: bytes, key_pem: bytes, authorities: tuple[bytes, ...]) -> None:
        before = self._cert_pem, self._key_pem, self._authorities
        if before == (cert_pem, key_pem, authorities):
            return
        self._cert_pem, self._key_pem, self._authorities = cert_pem, key_pem, authorities
        try:
            self._current = self._build()
        except TLSError:
            self._cert_pem, self._key_pem, self._authorities = before
            raise
        self._apply()

    def _build(self) -> ssl.SSLContext:
        context = _base()
        try:
            with _as_file(self._cert_pem.rstrip() + b"\n" + self._key_pem) as path:
                context.load_cert_chain(path)
            for bundle in self._authorities:
                context.load_verify_locations(cadata=_ascii(bundle))
        except (ssl.SSLError, ValueError) as error:
            raise TLSError(f"TLS material cannot be used: {error}") from error
        return context

    def _apply(self) -> None:
        # Whether a certificate is asked for is taken from the context that a handshake starts from.
        self.context.verify_mode = ssl.CERT_OPTIONAL if self._authorities else ssl.CERT_NONE

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current


def _base() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    # A resumed session carries the peer's certificate but not its intermediates, and skips the
    # verification: each connection makes a handshake of its own. kube-apiserver and kubectl never resume.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _ascii(bundle: bytes) -> str:
    """The bundle as `ssl` wants it: people write comments between certificates, and not in ASCII only."""
    return "".join(chr(byte) if byte < 0x80 else "?" for byte in bundle)


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """`load_cert_chain` takes paths only: one that leads to memory where the system has that, else to a
    private file.
    """
    create: Callable[[str], int] | None = getattr(os, "memfd_create", None)
    if create is not None and os.path.isdir("/proc/self/fd"):
        with os.fdopen(create("tls"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as file:  # mode 0600
            file.write(content)
            file.flush()
            yield file.name
