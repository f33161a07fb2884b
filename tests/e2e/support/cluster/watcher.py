"""A watch as clients keep it: when the connection is lost it goes on from the last revision it has seen."""

from __future__ import annotations

import http.client
import json
import threading
from types import TracebackType
from typing import Any

from cluster.rest import Rest

RETRY_SECONDS = 0.2


class ExpiredError(AssertionError):
    """The server no longer knew the revision from which the watch wanted to go on."""


class Watcher:
    """Collects the events of a collection from a revision on, in a thread, until it is left."""

    def __init__(self, rest: Rest, path: str, revision: str) -> None:
        self._rest, self._path, self._revision = rest, path, revision
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {path}", daemon=True)
        self.events: list[tuple[str, str]] = []
        self.connections = 0
        self.failure: BaseException | None = None

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(5)

    def seen(self, *events: tuple[str, str]) -> bool:
        """Whether these events, as (type, name), are what has come so far. Raises what ended the watch."""
        if self.failure is not None:
            raise AssertionError(f"the watch ended: {self.failure!r}")
        assert self.events == list(events), f"events so far: {self.events}"
        return True

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
                self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "ERROR":
            raise ExpiredError(event["object"].get("message", ""))
        metadata = event["object"]["metadata"]
        self._revision = metadata["resourceVersion"]
        if event["type"] != "BOOKMARK":
            self.events.append((event["type"], metadata["name"]))
