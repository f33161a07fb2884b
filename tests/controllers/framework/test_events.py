"""Events: written in the background, counted up, limited, never in the way."""

from __future__ import annotations

import asyncio
from typing import Any

from fakecluster import MemoryHost, MemoryStore

from apiserver.controllers.clock import FakeClock
from apiserver.controllers.events import QUEUE_LIMIT, EventRecorder

JOB: dict[str, Any] = {
    "apiVersion": "ai.example.com/v1",
    "kind": "InferenceJob",
    "metadata": {"name": "llama", "namespace": "ml", "uid": "u1", "resourceVersion": "7"},
}


class Desk:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.host = MemoryHost(self.store)
        self.recorder = EventRecorder(self.host, self.clock, component="inference-apiserver", identity="one")

    def events(self) -> list[dict[str, Any]]:
        return self.store.list("events")


async def test_an_event_tells_what_kubectl_describe_shows() -> None:
    desk = Desk()
    desk.recorder.event(JOB, "Normal", "Placed", "on gpu-1")
    await desk.recorder.flush()
    (event,) = desk.events()
    assert event["metadata"]["namespace"] == "ml"
    assert event["involvedObject"] == {
        "apiVersion": "ai.example.com/v1",
        "kind": "InferenceJob",
        "name": "llama",
        "namespace": "ml",
        "uid": "u1",
        "resourceVersion": "7",
    }
    assert (event["type"], event["reason"], event["message"], event["count"]) == (
        "Normal",
        "Placed",
        "on gpu-1",
        1,
    )
    assert event["source"] == {"component": "inference-apiserver"}


async def test_equal_events_are_counted_up() -> None:
    desk = Desk()
    for _ in range(3):
        desk.recorder.event(JOB, "Warning", "Waiting", "no room")
        await desk.recorder.flush()
        await desk.clock.advance(60)
    (event,) = desk.events()
    assert event["count"] == 3
    assert event["lastTimestamp"] > event["firstTimestamp"]


async def test_an_event_that_has_expired_is_written_anew() -> None:
    desk = Desk()
    desk.recorder.event(JOB, "Warning", "Waiting", "no room")
    await desk.recorder.flush()
    desk.store.remove(("events", "ml", desk.events()[0]["metadata"]["name"]))
    desk.recorder.event(JOB, "Warning", "Waiting", "no room")
    await desk.recorder.flush()
    assert [event["count"] for event in desk.events()] == [1]


async def test_an_object_that_makes_too_many_events_is_limited_and_recovers() -> None:
    desk = Desk()
    for number in range(100):
        desk.recorder.event(JOB, "Normal", "Noise", str(number))
    await desk.recorder.flush()
    assert len(desk.events()) == 25
    await desk.clock.advance(300)
    desk.recorder.event(JOB, "Normal", "Noise", "later")
    await desk.recorder.flush()
    assert len(desk.events()) == 26


async def test_a_dead_host_loses_events_and_nothing_else() -> None:
    desk = Desk()

    def down(method: str, path: str) -> None:
        raise ConnectionError("refused")

    desk.host.before = down
    task = asyncio.ensure_future(desk.recorder.run())
    desk.recorder.event(JOB, "Normal", "Lost", "")
    await desk.clock.settle()
    desk.host.before = lambda *_: None
    desk.recorder.event(JOB, "Normal", "Kept", "")
    await desk.clock.settle()
    assert [event["reason"] for event in desk.events()] == ["Kept"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_queue_of_events_is_bounded() -> None:
    desk = Desk()
    for number in range(QUEUE_LIMIT + 50):
        obj = {**JOB, "metadata": {**JOB["metadata"], "uid": str(number)}}
        desk.recorder.event(obj, "Normal", "Flood", "")
    await desk.recorder.flush()
    assert len(desk.events()) == QUEUE_LIMIT
