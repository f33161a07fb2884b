"""A watch as clients keep it: it goes on from the last revision seen, and lists anew where that is gone."""

from __future__ import annotations

import http.client
import json
import threading
from types import TracebackType
from typing import Any

from cluster.rest import Rest

RETRY_SECONDS = 0.2


EXPIRED = 410


class Watcher:
    """Collects the events of a collection from a revision on, in a thread, until it is left."""

    def __init__(self, rest: Rest, path: str, revision: str) -> None:
        self._rest, self._path, self._revision = rest, path, revision
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {path}", daemon=True)
        self._known: set[str] = set()
        self.events: list[tuple[str, str]] = []
        self.connections = 0
        self.relists = 0
        self.failure: BaseException | None = None

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(5)

    def added(self) -> list[str]:
        """Names in the order in which they came, as often as they came. Raises what ended the watch."""
        if self.failure is not None:
            raise AssertionError(f"the watch ended: {self.failure!r}")
        return [name for kind, name in self.events if kind == "ADDED"]

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except (OSError, http.client.HTTPException):
                # The server is away: what a client does is to come back.
                self._stop.wait(RETRY_SECONDS)
            except BaseException as error:
                self.failure = error
                return

    def _follow(self) -> None:
        query = f"watch=true&allowWatchBookmarks=true&resourceVersion={self._revision}&timeoutSeconds=300"
        with self._rest.stream(f"{self._path}?{query}", timeout=310) as (head, lines):
            if head.status != 200:
                self._stop.wait(RETRY_SECONDS)
                return
            self.connections += 1
            for line in lines:
                if self._stop.is_set():
                    return
                relists = self.relists
                self._take(json.loads(line))
                if self.relists > relists:
                    return

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "ERROR":
            assert event["object"]["code"] == EXPIRED, event["object"]
            self._relist()
            return
        metadata = event["object"]["metadata"]
        self._revision = metadata["resourceVersion"]
        if event["type"] != "BOOKMARK":
            self._note(event["type"], metadata["name"])

    def _note(self, kind: str, name: str) -> None:
        self.events.append((kind, name))
        if kind == "DELETED":
            self._known.discard(name)
        else:
            self._known.add(name)

    def _relist(self) -> None:
        found = self._rest.get(self._path)
        names = [item["metadata"]["name"] for item in found["items"]]
        for name in names:
            if name not in self._known:
                self._note("ADDED", name)
        for name in self._known - set(names):
            self._note("DELETED", name)
        self._revision = found["metadata"]["resourceVersion"]
        self.relists += 1
