"""Watching one prefix over one stream.

Progress is asked for with etcd's progress requests where they can be believed. Older servers claim revisions
whose events have not been sent yet; there a marker key is written instead that sorts right before the prefix
and lies in the watched range: its event comes after all earlier ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import grpc
import grpc.aio

from storage.errors import Compacted, Denied, StorageError, Unavailable
from storage.etcd.caller import Caller
from storage.etcd.faults import Remedy, remedy, translate
from storage.etcd.maintenance import status, trusts_progress
from storage.etcd.proto import etcd_wire_pb2 as wire
from storage.etcd.txn import txn
from storage.interface import Batch, Event, KeyValue, Put
from storage.ranges import end_of_prefix

Call = grpc.aio.StreamStreamCall[wire.WatchRequest, wire.WatchResponse]
MARKER_TIMEOUT = 2.0


@asynccontextmanager
async def watch(caller: Caller, prefix: bytes, start: int, timeout: float) -> AsyncIterator[EtcdWatch]:
    """A watch from a revision on (0: from now on). It is known to the server when this is entered."""
    marker = b"" if await _trusted(caller) else _marker(prefix)
    at, call = await caller.stream()
    stream = EtcdWatch(caller, call, prefix, marker)
    try:
        try:
            async with asyncio.timeout(timeout):
                await stream.create(start)
        except TimeoutError:
            raise Unavailable("etcd did not open the watch in time") from None
        yield stream
    except grpc.aio.AioRpcError as error:
        await caller.failed(at, error)
        if remedy(error) is Remedy.AUTHENTICATE:
            caller.forget_token()
        raise translate(error, writes=False) from error
    finally:
        call.cancel()


class EtcdWatch:
    """See `storage.interface.Watch`."""

    def __init__(self, caller: Caller, call: Call, prefix: bytes, marker: bytes) -> None:
        self._caller = caller
        self._call = call
        self._prefix = prefix
        self._marker = marker

    async def create(self, start: int) -> None:
        """Send the request and wait for the server's word that it watches."""
        request = wire.WatchCreateRequest(
            key=self._marker or self._prefix or b"\x00",
            range_end=end_of_prefix(self._prefix) or b"\x00",
            start_revision=start,
        )
        await self._call.write(wire.WatchRequest(create_request=request))
        answer = await self._read()
        if answer.canceled:
            raise self._canceled(answer)

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """Batches without gaps or repeats. Raises Compacted, Denied, Unavailable."""
        while True:
            answer = await self._read()
            if answer.canceled:
                raise self._canceled(answer)
            if answer.events:
                # The revision of the header may be ahead of what has been sent:
                # only that of the events counts.
                yield Batch(answer.events[-1].kv.mod_revision, self._events(answer))
            elif not answer.created:
                yield Batch(answer.header.revision)

    async def request_progress(self) -> None:
        """Ask for a batch that says how far the stream has come."""
        if self._marker:
            await self._touch_marker()
            return
        request = wire.WatchRequest(progress_request=wire.WatchProgressRequest())
        try:
            await self._call.write(request)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the stream has ended: whoever reads it learns why
        except asyncio.CancelledError:
            # gRPC raises this also when it is the stream that was cancelled, and not we.
            task = asyncio.current_task()
            if not self._call.done() or (task is not None and task.cancelling()):
                raise

    async def _touch_marker(self) -> None:
        with suppress(StorageError):  # a hint: it will be asked for again
            async with asyncio.timeout(MARKER_TIMEOUT):
                await txn(self._caller, (), (Put(self._marker, b""),))

    async def _read(self) -> wire.WatchResponse:
        answer = await self._call.read()
        if not isinstance(answer, wire.WatchResponse):  # gRPC's mark of the end
            raise Unavailable("etcd ended the watch")
        return answer

    def _canceled(self, answer: wire.WatchResponse) -> StorageError:
        if answer.compact_revision:
            return Compacted(answer.compact_revision)
        if "permission denied" in answer.cancel_reason:
            # etcd says this for a token that it does not know any more, too.
            self._caller.forget_token()
            return Denied(answer.cancel_reason)
        if "compacted" in answer.cancel_reason:
            return Compacted()
        self._caller.forget_token()
        return Unavailable(f"etcd cancelled the watch: {answer.cancel_reason}")

    def _events(self, answer: wire.WatchResponse) -> tuple[Event, ...]:
        events = (_event(event) for event in answer.events)
        if self._marker:
            return tuple(event for event in events if event.key.startswith(self._prefix))
        return tuple(events)


async def _trusted(caller: Caller) -> bool:
    try:
        return trusts_progress((await status(caller)).version)
    except Denied:
        # Only versions from 3.6 on keep their status from users who are not root, and those are right.
        return True


def _marker(prefix: bytes) -> bytes:
    """A key in the gap right before all keys below the prefix ('.' is the byte before '/')."""
    return prefix[:-1] + b".progress" if prefix.endswith(b"/") else prefix


def _event(event: wire.Event) -> Event:
    kv = event.kv
    if event.type == wire.Event.DELETE:
        return Event(kv.mod_revision, kv.key, None)
    return Event(kv.mod_revision, kv.key, KeyValue(kv.key, kv.value, kv.create_revision, kv.mod_revision))
