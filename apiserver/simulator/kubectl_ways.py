"""What kubectl does with kinds that are built into Kubernetes and with no others, put into words that this
server understands: protobuf becomes JSON, strategic merge patches become merge patches, and whoever asks a
simulated pod for its output is told that there is none.

It stands in front of the whole application of `dev`, so that the server proper, which treats every kind like
a custom resource, need not know of it. Nothing is answered here that depends on an object: who asks is found
out behind it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson

from apiserver.machinery import errors
from apiserver.machinery.errors import APIError
from apiserver.simulator.core import CORE_RESOURCES
from apiserver.simulator.objects import Objects
from apiserver.simulator.protobuf import NotUnderstood, to_object
from apiserver.simulator.strategic import as_merge_patch

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

PROTOBUF = b"application/vnd.kubernetes.protobuf"
STRATEGIC = b"application/strategic-merge-patch+json"
MAX_BODY = 3 << 20
"""Bytes; longer bodies go on as they are, to be refused."""

_KINDS = {resource.group: frozenset[str]() for resource in CORE_RESOURCES}
for _resource in CORE_RESOURCES:
    _KINDS[_resource.group] |= {_resource.plural}
_OBJECT = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/v1/(?:namespaces/(?P<namespace>[^/]+)/(?=[^/]+/))?"
    r"(?P<plural>[^/]+)/(?P<name>[^/]+)(?:/(?:status|finalize))?"
)
_OUTPUT = re.compile(r"/api/v1/namespaces/[^/]+/pods/[^/]+/(log|exec|attach|portforward)")


def understand_kubectl(app: App, objects: Objects) -> App:
    """The application behind a translator. `objects` are the live ones, for patches."""

    async def translated(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        if _OUTPUT.fullmatch(scope["path"]):
            await _refuse(send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"content-type", b"").partition(b";")[0].strip()
        if given not in (PROTOBUF, STRATEGIC):
            await app(scope, receive, send)
            return
        body = await _read(receive)
        if body is None:
            return
        if given == PROTOBUF:
            kind, fresh = _from_protobuf(body)
        else:
            kind, fresh = await _from_strategic(objects, scope["path"], body)
        await app(_with_body(scope, kind or given, len(fresh)), _replay(fresh, receive), send)

    return translated


def _from_protobuf(body: bytes) -> tuple[bytes, bytes]:
    """Media type and body; the type is empty when it stays as it was, to be refused by the server."""
    try:
        return b"application/json", orjson.dumps(to_object(body))
    except NotUnderstood:
        return b"", body


async def _from_strategic(objects: Objects, path: str, body: bytes) -> tuple[bytes, bytes]:
    found = _OBJECT.fullmatch(path)
    if found is None or found["plural"] not in _KINDS.get(found["group"] or "", ()):
        return b"", body
    try:
        live = await objects.get(found["plural"], found["namespace"] or "", found["name"])
        change = as_merge_patch(live, orjson.loads(body))
    except (APIError, ValueError, TypeError, AttributeError):
        # Not there, or no patch at all: the server says it better.
        return b"application/merge-patch+json", body
    if _has_list(change):
        # The list was made from this state of the object: whoever changed it since must not be overwritten.
        change.setdefault("metadata", {}).setdefault("resourceVersion", live["metadata"]["resourceVersion"])
    return b"application/merge-patch+json", orjson.dumps(change)


def _has_list(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_list(item) for item in value.values())
    return isinstance(value, list)


async def _read(receive: Receive) -> bytes | None:
    """The body, cut when it is too long; None when the client went away."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY or not message.get("more_body", False):
            return bytes(body)


def _with_body(scope: Message, media_type: bytes, size: int) -> Message:
    kept = [item for item in scope["headers"] if item[0] not in (b"content-type", b"content-length")]
    told = [(b"content-type", media_type), (b"content-length", b"%d" % size)]
    return {**scope, "headers": [*kept, *told]}


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


async def _refuse(send: Send) -> None:
    status = errors.bad_request(
        "simulated pods run nothing, so there is no output and nothing to connect to;"
        " kubectl describe tells what happened"
    )
    body = orjson.dumps(status.status())
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status.code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
