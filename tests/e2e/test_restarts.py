"""Servers that go and come back: no watcher misses or repeats an event, no acknowledged write is lost."""

from __future__ import annotations

import pytest
from cluster import jobs
from cluster.rest import Rest
from cluster.server import AIServer
from cluster.waiting import eventually
from cluster.watcher import Watcher

pytestmark = pytest.mark.e2e


def _held(name: str) -> dict[str, object]:
    return jobs.manifest(name, suspend=True, restartPolicy="Never")


def _create(rest: Rest, namespace: str, name: str) -> None:
    """Create once: what a client does is to come back until the server is there again."""

    def created() -> bool:
        rest.create(jobs.path(namespace), _held(name))
        return True

    eventually(f"{name} is created", created, 60, every=0.3)


def test_a_watch_goes_on_over_restarts_of_both_servers(
    ai_server: AIServer, rest: Rest, namespace: str
) -> None:
    start = rest.get(jobs.path(namespace))["metadata"]["resourceVersion"]
    with Watcher(rest, jobs.path(namespace), start) as watcher:
        _create(rest, namespace, "before")
        eventually("the watch runs", lambda: watcher.added() == ["before"], 20)

        ai_server.process.stop()
        ai_server.start()
        ai_server.wait_available()
        _create(rest, namespace, "after-ours")
        eventually("the watch is back", lambda: watcher.added() == ["before", "after-ours"], 30)

        ai_server.process.kill()
        ai_server.start()
        ai_server.wait_available()
        _create(rest, namespace, "after-a-kill")
        eventually("the watch is back again", lambda: len(watcher.added()) == 3, 30)

        ai_server.plane.kube_apiserver.kill()
        ai_server.plane.start_kube_apiserver()
        ai_server.wait_available()
        _create(rest, namespace, "after-theirs")
        everything = ["before", "after-ours", "after-a-kill", "after-theirs"]
        eventually("nothing is lost or repeated", lambda: watcher.added() == everything, 60)
        assert watcher.connections >= 4
    items = rest.get(jobs.path(namespace))["items"]
    assert sorted(item["metadata"]["name"] for item in items) == sorted(everything)


def test_our_server_stops_cleanly_when_asked(ai_server: AIServer) -> None:
    try:
        assert ai_server.process.stop(30) == 0, ai_server.process.tail()
    finally:
        ai_server.start()
        ai_server.wait_available()
