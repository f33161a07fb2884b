"""Entries in key order, cheap to change however many there are.

A plain sorted list moves half its length at each insertion, which is felt from some ten thousand entries on.
Here the list is cut into chunks of bounded length, so an insertion costs the same with a hundred and with a
hundred thousand entries, and a range of entries is still a join of slices.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, Protocol, TypeVar

CHUNK = 512
"""Half the most entries of one chunk."""


class Keyed(Protocol):
    """What has a key."""

    @property
    def key(self) -> bytes:
        """Where it is in the order."""
        ...


R = TypeVar("R", bound=Keyed)


class Rows(Generic[R]):
    """See the module. No chunk is empty; `_firsts` are the first keys of the chunks."""

    def __init__(self, rows: list[R]) -> None:
        """Take rows that are in key order."""
        self._rows = [rows[at : at + CHUNK] for at in range(0, len(rows), CHUNK)]
        self._keys = [[row.key for row in chunk] for chunk in self._rows]
        self._firsts = [keys[0] for keys in self._keys]

    def put(self, row: R) -> None:
        """Insert a row, or replace the one with its key."""
        if not self._firsts:
            self._rows, self._keys, self._firsts = [[row]], [[row.key]], [row.key]
            return
        chunk = self._chunk(row.key)
        keys, rows = self._keys[chunk], self._rows[chunk]
        at = bisect_left(keys, row.key)
        if at < len(keys) and keys[at] == row.key:
            rows[at] = row
            return
        keys.insert(at, row.key)
        rows.insert(at, row)
        self._firsts[chunk] = keys[0]
        if len(keys) > 2 * CHUNK:
            self._split(chunk)

    def remove(self, key: bytes) -> None:
        """Remove the row with this key, which is there."""
        chunk = self._chunk(key)
        keys, rows = self._keys[chunk], self._rows[chunk]
        at = bisect_left(keys, key)
        del keys[at], rows[at]
        if keys:
            self._firsts[chunk] = keys[0]
        else:
            del self._keys[chunk], self._rows[chunk], self._firsts[chunk]

    def between(self, start: bytes, end: bytes) -> list[R]:
        """The rows from a key on (inclusive) up to a key (exclusive), in order."""
        if start >= end or not self._firsts:
            return []
        first, last = self._chunk(start), self._chunk(end)
        low, high = bisect_left(self._keys[first], start), bisect_left(self._keys[last], end)
        if first == last:
            return self._rows[first][low:high]
        found = self._rows[first][low:]
        for chunk in range(first + 1, last):
            found += self._rows[chunk]
        found += self._rows[last][:high]
        return found

    def count(self, start: bytes, end: bytes) -> int:
        """How many rows `between` would give."""
        if start >= end or not self._firsts:
            return 0
        first, last = self._chunk(start), self._chunk(end)
        low, high = bisect_left(self._keys[first], start), bisect_left(self._keys[last], end)
        return sum(len(self._keys[chunk]) for chunk in range(first, last)) - low + high

    def _chunk(self, key: bytes) -> int:
        """The chunk where this key is or would be."""
        return max(bisect_right(self._firsts, key) - 1, 0)

    def _split(self, chunk: int) -> None:
        keys, rows = self._keys[chunk], self._rows[chunk]
        self._keys[chunk : chunk + 1] = [keys[:CHUNK], keys[CHUNK:]]
        self._rows[chunk : chunk + 1] = [rows[:CHUNK], rows[CHUNK:]]
        self._firsts.insert(chunk + 1, keys[CHUNK])
