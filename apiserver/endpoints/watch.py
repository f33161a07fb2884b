"""GET with `watch=true`: a stream of events until the deadline, the client or the server ends it."""

from __future__ import annotations

import asyncio

from starlette.types import Receive

from apiserver.endpoints.answer import form_for
from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import WATCH, Accepted, accepted
from apiserver.endpoints.request import STOPPING_KEY
from apiserver.machinery.options import list_options
from apiserver.observability.http_metrics import WATCH_EVENTS
from apiserver.registry.selection import select
from apiserver.registry.verbs.watch import Watch
from apiserver.registry.verbs.watch import watch as open_watch

PAUSE = 0.01
"""Seconds between two sends of a busy stream. What happens meanwhile goes out as one: with many watchers most
of what an event costs is the write to each connection. An event after a quiet time is sent at once.
"""
_PAUSE_BELOW_BYTES = 64 * 1024


async def watch(call: Call) -> None:
    """Open the watch, and stream it."""
    accept = accepted(call.request, WATCH)
    form = form_for(call, _as_one(accept), many=False)
    options = list_options(call.query, force_watch=True)
    info = call.request.info
    selection = select(call.store.resource, info.namespace, info.name, options)
    clock = asyncio.get_running_loop().time
    opened = await open_watch(call.store, selection, form, options, clock)
    start = {
        "type": "http.response.start",
        "status": 200,
        "headers": [(b"content-type", b"application/json"), (b"transfer-encoding", b"chunked")],
    }
    await call.send(start)
    # An empty chunk flushes the headers: clients wait for them although nothing may happen for minutes.
    await call.send({"type": "http.response.body", "body": b"", "more_body": True})
    await _stream(call, opened)
    await call.send({"type": "http.response.body", "body": b"", "more_body": False})


def _as_one(accept: Accepted) -> Accepted:
    if accept.as_kind == "PartialObjectMetadataList":
        return Accepted(accept.media_type, "PartialObjectMetadata", accept.as_version, accept.pretty)
    return accept


async def _stream(call: Call, opened: Watch) -> None:
    """Send frames until they end, the client goes away or the server stops, whichever is first."""
    async with asyncio.TaskGroup() as group:
        endings = [
            group.create_task(_send_frames(call, opened)),
            group.create_task(_disconnected(call.receive)),
        ]
        stopping: asyncio.Event | None = call.scope.get(STOPPING_KEY)
        if stopping is not None:
            endings.append(group.create_task(_stopped(stopping)))
        await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        for task in endings:
            task.cancel()


async def _send_frames(call: Call, opened: Watch) -> None:
    info = call.request.info
    counter = WATCH_EVENTS.labels(info.group, info.version, info.resource)
    clock = asyncio.get_running_loop().time
    busy_until = 0.0
    async for frames in opened.frames():
        counter.inc(frames.count(b"\n"))
        await call.send({"type": "http.response.body", "body": frames, "more_body": True})
        if clock() < busy_until and len(frames) < _PAUSE_BELOW_BYTES:
            await asyncio.sleep(PAUSE)
        busy_until = clock() + 2 * PAUSE


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stopped(stopping: asyncio.Event) -> None:
    await stopping.wait()
