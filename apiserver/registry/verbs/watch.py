"""watch: what happens to the selected objects, from a revision on, as frames ready to be sent.

A stream is a small state machine: the initial events (if asked for), the bookmark that ends them,
then changes and bookmarks until the deadline, or an ERROR frame when the reader is slower
than the window of the cache.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass

import orjson

from apiserver.machinery import errors
from apiserver.machinery.options import ListOptions
from apiserver.registry.faults import too_old
from apiserver.registry.representation import Representation
from apiserver.registry.selection import Selection, key_range
from apiserver.registry.store import ResourceStore
from apiserver.registry.verbs.get import parse_version, wait_for_version
from apiserver.registry.view import View
from storage.cache import Change, Subscription
from storage.errors import Expired

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
BOOKMARK_PERIOD = 60.0
"""Seconds between bookmarks."""
BOOKMARK_BEFORE_END = 2.0
"""Seconds before the deadline at which the last bookmark is sent."""
MIN_TIMEOUT = 1800
"""Seconds that a watch lasts at least when the client sets no limit; it is at most twice that."""
PIECE = 256 * 1024
"""Bytes from which on frames are sent before more are made: what a slow reader holds in memory is bounded by
it, however large and many the events."""

MEMO_FORMS = 4
"""Forms of a change whose encoding is kept for other watchers; more would multiply what the window holds."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Watch:
    """An accepted watch. Iterate `frames()` once."""

    store: ResourceStore
    selection: Selection
    form: Representation
    options: ListOptions
    start: int
    views: tuple[View, ...]
    subscription: Subscription[View] | Expired
    deadline: float
    clock: Clock

    async def frames(self) -> AsyncIterator[bytes]:
        """Batches of frames, each a JSON document and a newline, until the deadline."""
        if isinstance(self.subscription, Expired):
            yield error_frame(too_old(self.start, self.subscription.compact_revision))
            return
        added = (
            _frame(b"ADDED", self.form.event(view, first=index == 0)) for index, view in enumerate(self.views)
        )
        for piece in _pieces(added):
            yield piece
        if self.options.send_initial_events and self.options.allow_watch_bookmarks:
            yield self._bookmark(self.start, {INITIAL_EVENTS_END: "true"})
        async for frame in self._changes(self.subscription, not self.views):
            yield frame

    async def _changes(self, subscription: Subscription[View], first: bool) -> AsyncIterator[bytes]:
        bookmark_at = self._next_bookmark(last=False)
        final_sent = False
        while (now := self.clock()) < self.deadline:
            until = min(self.deadline, bookmark_at) if self.options.allow_watch_bookmarks else self.deadline
            try:
                revision, changes = await subscription.next(max(until - now, 0.001))
            except Expired as expired:
                yield error_frame(too_old(subscription.revision, expired.compact_revision))
                return
            for piece in _pieces(self._events(changes, first)):
                first = False
                yield piece
            if self.options.allow_watch_bookmarks and not final_sent and self.clock() >= bookmark_at:
                yield self._bookmark(revision, {})
                final_sent = bookmark_at >= self.deadline - BOOKMARK_BEFORE_END
                bookmark_at = self._next_bookmark(last=final_sent)

    def _next_bookmark(self, *, last: bool) -> float:
        if last:
            return self.deadline + 1
        period = self.clock() + BOOKMARK_PERIOD * random.uniform(0.9, 1.0)  # noqa: S311 - spreads load
        return min(period, max(self.deadline - BOOKMARK_BEFORE_END, self.clock()))

    def _bookmark(self, revision: int, annotations: dict[str, str]) -> bytes:
        return _frame(b"BOOKMARK", self.form.bookmark(revision, annotations))

    def _events(self, changes: Iterable[Change[View]], first: bool) -> Iterator[bytes]:
        for change in changes:
            if frame := self._event(change, first):
                first = False
                yield frame

    def _event(self, change: Change[View], first: bool) -> bytes:
        """The frame for a change, or nothing when it is none of this watch's business."""
        current = change.current.view if change.current is not None else None
        previous = change.previous.view if change.previous is not None else None
        if not self.selection.everything:
            matches = self.selection.matches
            current = current if current is not None and matches(current) else None
            previous = previous if previous is not None and matches(previous) else None
        if current is not None:
            kind, view = (b"ADDED", current) if previous is None else (b"MODIFIED", current)
        elif previous is not None:
            kind, view = b"DELETED", previous
        else:
            return b""
        memo_key = (kind, self.form.key)
        if not first and (frame := change.memo.get(memo_key)) is not None:
            return frame
        if kind == b"DELETED":
            view = self.store.restamp(view, change.revision)
        frame = _frame(kind, self.form.event(view, first=first))
        if not first and len(change.memo) < MEMO_FORMS:
            change.memo[memo_key] = frame
        return frame


async def watch(
    store: ResourceStore, selection: Selection, form: Representation, options: ListOptions, clock: Clock
) -> Watch:
    """Open a watch. Raises 400, 410, 422, 503, 504 before the stream begins."""
    prefix, _ = key_range(store, selection)
    version = options.resource_version
    asked = parse_version(version) if version else 0
    initial = options.send_initial_events is True
    start = asked if asked and not initial else await wait_for_version(store, version)
    seconds = options.timeout_seconds or random.uniform(MIN_TIMEOUT, 2 * MIN_TIMEOUT)  # noqa: S311
    deadline = clock() + seconds
    if asked and not initial:
        await store.cache.wait_ready()
    try:
        subscription = store.cache.watch(prefix, start)
    except Expired as expired:
        # The client learns of it as of everything else that happens in a stream: by an event.
        return Watch(store, selection, form, options, start, (), expired, deadline, clock)
    views: tuple[View, ...] = ()
    if initial:
        matches = selection.matches
        views = tuple(
            entry.view for entry in store.cache.entries(prefix) if selection.everything or matches(entry.view)
        )
    return Watch(store, selection, form, options, start, views, subscription, deadline, clock)


def error_frame(error: errors.APIError) -> bytes:
    """The frame that tells a watcher why its stream ends."""
    return _frame(b"ERROR", orjson.dumps(error.status()))


def _pieces(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Frames put together to pieces of some size; no more are made than have been asked for."""
    held: list[bytes] = []
    size = 0
    for frame in frames:
        held.append(frame)
        size += len(frame)
        if size >= PIECE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _frame(kind: bytes, obj: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind, obj)
