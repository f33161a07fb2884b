"""One channel to one endpoint of etcd, with the options that outages and frozen peers taught us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from storage.errors import Unavailable
from storage.etcd.methods import A, Method, Q
from storage.etcd.options import EtcdOptions

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # Back at once after an outage; the defaults come seconds late. "min" is how long one attempt to connect
    # may take, handshake included.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 2000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A frozen peer is noticed after 15 s; without the ping timeout it takes 70 s. etcd punishes pings more
    # often than every 5 s with GOAWAY too_many_pings.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    # Each store has connections of its own, so that closing one does not close another's.
    ("grpc.use_local_subchannel_pool", 1),
)


class Connection:
    """A channel that is opened when first used, and anew after `renew`."""

    def __init__(self, endpoint: str, options: EtcdOptions) -> None:
        scheme, _, self._target = endpoint.rpartition("://")
        self._options = options
        self._tls = scheme == "https" or (not scheme and bool(options.ca_file))
        self._channel: grpc.aio.Channel | None = None
        self._loaded: tuple[float, ...] = ()
        self._calls: dict[str, Any] = {}

    async def call(self, method: Method[Q, A], request: Q, metadata: Any, timeout: float) -> A:
        """One unary call. Raises grpc.aio.AioRpcError."""
        stub = self._calls.get(method.path)
        if stub is None:
            stub = self._open().unary_unary(
                method.path, request_serializer=method.serialize, response_deserializer=method.parse
            )
            self._calls[method.path] = stub
        answer: A = await stub(request, metadata=metadata, timeout=timeout)
        return answer

    def stream(self, method: Method[Q, A], metadata: Any) -> grpc.aio.StreamStreamCall[Q, A]:
        """A call that streams both ways, for as long as it lasts."""
        stub = self._open().stream_stream(
            method.path, request_serializer=method.serialize, response_deserializer=method.parse
        )
        return stub(None, metadata=metadata)

    async def renew(self) -> None:
        """After a failure: if the certificate files have changed, connect anew with them at the next call."""
        if self._channel is not None and self._tls and self._loaded != self._stamps():
            await self.close()

    async def close(self) -> None:
        """Close the channel; calls under way fail."""
        channel, self._channel = self._channel, None
        self._calls.clear()
        if channel is not None:
            await channel.close(None)

    def _open(self) -> grpc.aio.Channel:
        if self._channel is None:
            options: list[tuple[str, int | str]] = [*CHANNEL_OPTIONS]
            if self._tls:
                if self._options.server_name:
                    options.append(("grpc.ssl_target_name_override", self._options.server_name))
                self._channel = grpc.aio.secure_channel(self._target, self._credentials(), options=options)
            else:
                self._channel = grpc.aio.insecure_channel(self._target, options=options)
        return self._channel

    def _credentials(self) -> grpc.ChannelCredentials:
        self._loaded = self._stamps()
        authority, key, certificate = (
            Path(name).read_bytes() if name else None
            for name in (self._options.ca_file, self._options.key_file, self._options.cert_file)
        )
        return grpc.ssl_channel_credentials(authority, key, certificate)

    def _stamps(self) -> tuple[float, ...]:
        names = (self._options.ca_file, self._options.key_file, self._options.cert_file)
        try:
            return tuple(Path(name).stat().st_mtime for name in names if name)
        except OSError as error:
            raise Unavailable(f"a certificate file cannot be read: {error}") from error
