"""Calls to whichever endpoint answers, with a valid token.

A call is tried on another endpoint, or again with a new token, only when it cannot have had an effect. A
write whose answer was lost is never tried again: the caller gets Ambiguous and reads back.
"""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio

from storage.errors import Ambiguous, Unavailable
from storage.etcd.connection import Connection
from storage.etcd.faults import Remedy, remedy, translate
from storage.etcd.methods import AUTHENTICATE, WATCH, A, Method, Q
from storage.etcd.options import EtcdOptions
from storage.etcd.proto import etcd_wire_pb2 as wire

Metadata = tuple[tuple[str, str], ...]


class Caller:
    """See the module."""

    def __init__(self, options: EtcdOptions) -> None:
        self._options = options
        self._connections = [Connection(endpoint, options) for endpoint in options.endpoints]
        self._current = 0
        self._metadata: Metadata | None = None if options.username else ()
        self._authenticating = asyncio.Lock()
        self._closed = False

    @property
    def connections(self) -> list[Connection]:
        """One for each endpoint."""
        return self._connections

    async def call(self, method: Method[Q, A], request: Q, *, timeout: float = 0) -> A:
        """A unary call, in `timeout` seconds (0: the option's). Raises storage errors."""
        seconds = timeout or self._options.timeout
        try:
            # gRPC keeps the deadline; this one is for what goes on between attempts.
            async with asyncio.timeout(seconds + 1):
                return await self._call(method, request, seconds)
        except TimeoutError:
            raise (Ambiguous if method.writes else Unavailable)("no answer in time") from None

    async def _call(self, method: Method[Q, A], request: Q, timeout: float) -> A:
        tries = len(self._connections)
        renewed = False
        while True:
            self._check_open()
            at = self._current
            metadata = await self.metadata()
            try:
                return await self._connections[at].call(method, request, metadata, timeout)
            except grpc.aio.UsageError as error:
                raise Unavailable("the store is closed") from error
            except asyncio.CancelledError:
                # gRPC raises this also when the channel was closed under the call, and nobody cancelled us.
                task = asyncio.current_task()
                if not self._closed or (task is not None and task.cancelling()):
                    raise
                raise (Ambiguous if method.writes else Unavailable)(
                    "the store was closed meanwhile"
                ) from None
            except grpc.aio.AioRpcError as error:
                what = remedy(error)
                if what is Remedy.AUTHENTICATE and self._options.username and not renewed:
                    renewed = True
                    self._forget(metadata)
                    continue
                tries -= 1
                await self.failed(at, error)
                if tries > 0 and (what is Remedy.ELSEWHERE or self._may_repeat(method, error)):
                    continue
                raise translate(error, writes=method.writes) from error

    async def stream(self) -> tuple[int, grpc.aio.StreamStreamCall[wire.WatchRequest, wire.WatchResponse]]:
        """Open a watch stream at the present endpoint, whose number comes with it."""
        self._check_open()
        metadata = await self.metadata()
        # Without `hasleader` a watch hangs when the quorum is lost.
        at = self._current
        return at, self._connections[at].stream(WATCH, (*metadata, ("hasleader", "true")))

    async def failed(self, at: int, error: grpc.aio.AioRpcError) -> None:
        """An endpoint has failed: go on with the next one, if it was this one that was in use."""
        if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            await self._connections[at].renew()
            if at == self._current:
                self._current = (at + 1) % len(self._connections)

    def forget_token(self) -> None:
        """The token was refused: the next call gets a new one."""
        self._forget(self._metadata)

    async def metadata(self) -> Metadata:
        """What a call carries to say who we are. Raises Denied, Unavailable."""
        return self._metadata if self._metadata is not None else await self._authenticate()

    async def _authenticate(self) -> Metadata:
        """Get a token, once for all callers that need one."""
        async with self._authenticating:
            if self._metadata is not None:
                return self._metadata
            request = wire.AuthenticateRequest(name=self._options.username, password=self._options.password)
            at = self._current
            try:
                answer = await self._connections[at].call(AUTHENTICATE, request, (), self._options.timeout)
            except grpc.aio.AioRpcError as error:
                if "authentication is not enabled" in (error.details() or ""):
                    self._metadata = ()
                    return ()
                await self.failed(at, error)
                failure = translate(error, writes=False)
                raise failure from error
            self._metadata = (("token", answer.token),)
            return self._metadata

    async def close(self) -> None:
        """Close all channels."""
        self._closed = True
        for connection in self._connections:
            await connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed")

    def _forget(self, metadata: Metadata | None) -> None:
        if self._options.username and self._metadata is metadata:
            self._metadata = None

    @staticmethod
    def _may_repeat(method: Method[Q, A], error: grpc.aio.AioRpcError) -> bool:
        return not method.writes and error.code() is grpc.StatusCode.UNAVAILABLE
