"""The SQL side of the store: a log of versions, and which of them are live.
Blocking; used by one thread alone.

Every version of every key is a row of `log` until it is compacted; `live` points at the newest version of
each key that exists. Written with WAL and `synchronous=FULL`, so a commit that has returned survives a crash
of the machine.
"""

# ruff: noqa: S608 - only constants are put together to queries

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from storage.errors import Ambiguous, Compacted, FutureRevision, Locked, NoSpace, StorageError, Unavailable
from storage.interface import Batch, Compare, Event, KeyValue, Op, Page, Put, Read, Txn
from storage.ranges import end_of_prefix

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL,
  key BLOB NOT NULL,
  value BLOB,                -- NULL: the key was deleted
  created INTEGER NOT NULL   -- the revision of the version that created the key
);
CREATE UNIQUE INDEX log_by_key ON log (key, revision);
CREATE INDEX log_by_revision ON log (revision);
CREATE TABLE live (key BLOB PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO state VALUES ('revision', 1), ('compacted', 0), ('purged', 0);
"""
VERSION = "log.key, log.value, log.created, log.revision"
HISTORY_ROWS = 512
"""Rows of history read in one go."""
PURGE_REVISIONS = 512
"""Revisions purged in one transaction, so that writers wait little."""
UNBOUNDED = b"\xff" * 64
"""Above every key that we would store."""


class Database:
    """An open file. Errors of SQLite leave as storage errors."""

    def __init__(self, path: Path | None) -> None:
        """Open or create the file (None: in memory). Raises Locked when another process has it open."""
        self._lock = None if path is None else _lock(path)
        try:
            self._sql = _open(path)
        except BaseException:
            self._unlock()
            raise
        state = dict(self._sql.execute("SELECT name, number FROM state"))
        self.revision: int = state["revision"]
        self.compacted: int = state["compacted"]

    def close(self) -> None:
        """Close the file and let others open it."""
        self._sql.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # Reading

    def get(self, key: bytes, revision: int) -> Read:
        """One key now (0) or at a revision."""
        if not revision:
            return Read(self.revision, self._live(key))
        self._check(revision)
        row = self._sql.execute(
            f"SELECT {VERSION} FROM log WHERE key = ? AND revision <= ? ORDER BY revision DESC LIMIT 1",
            (key, revision),
        ).fetchone()
        return Read(revision, None if row is None or row[1] is None else KeyValue(*row))

    def list(self, prefix: bytes, start: bytes, limit: int, revision: int) -> Page:
        """Keys below a prefix now (0) or at a revision."""
        bounds = (max(prefix, start), end_of_prefix(prefix) or UNBOUNDED)
        if revision:
            self._check(revision)
        if revision in (0, self.revision):
            source = f"SELECT {VERSION} FROM live JOIN log USING (id) WHERE live.key >= ? AND live.key < ?"
            values: tuple[object, ...] = bounds
            counting = "SELECT count(*) FROM live WHERE key >= ? AND key < ?"
        else:
            # Of a group, SQLite takes the bare columns from the row that holds the maximum.
            source = (
                "SELECT key, value, created, revision FROM (SELECT key, value, created,"
                " max(revision) AS revision FROM log"
                " WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key)"
                " WHERE value IS NOT NULL"
            )
            values = (*bounds, revision)
            counting = f"SELECT count(*) FROM ({source})"
        many = limit + 1 if limit else -1
        rows = self._sql.execute(f"{source} ORDER BY 1 LIMIT ?", (*values, many)).fetchall()
        items = tuple(KeyValue(*row) for row in (rows[:limit] if limit else rows))
        more = len(rows) > len(items)
        remaining = self._number(counting, values) - len(items) if more else 0
        return Page(revision or self.revision, items, more, remaining)

    def history(self, prefix: bytes, start: int, end: int) -> Batch:
        """The events of the revisions `start` to `end` or less, as far as the batch's revision says."""
        if start < self.compacted:
            raise Compacted(self.compacted)
        query = (
            f"SELECT log.id, {VERSION} FROM log WHERE revision >= ? AND revision <= ? AND id > ?"
            " AND key >= ? AND key < ? ORDER BY revision, id LIMIT ?"
        )
        bounds = (prefix, end_of_prefix(prefix) or UNBOUNDED)
        rows = self._sql.execute(query, (start, end, 0, *bounds, HISTORY_ROWS)).fetchall()
        if len(rows) == HISTORY_ROWS:
            end = rows[-1][4]
            rows += self._sql.execute(query, (end, end, rows[-1][0], *bounds, -1)).fetchall()
        return Batch(end, tuple(_event(*row[1:]) for row in rows))

    def _check(self, revision: int) -> None:
        if revision < self.compacted:
            raise Compacted(self.compacted)
        if revision > self.revision:
            raise FutureRevision(self.revision)

    def _live(self, key: bytes) -> KeyValue | None:
        row = self._sql.execute(
            f"SELECT {VERSION} FROM live JOIN log USING (id) WHERE live.key = ?", (key,)
        ).fetchone()
        return None if row is None else KeyValue(*row)

    def _number(self, query: str, values: Sequence[object]) -> int:
        number: int = self._sql.execute(query, tuple(values)).fetchone()[0]
        return number

    # Writing

    def commit(
        self, txns: Iterable[tuple[Sequence[Compare], Sequence[Op]]]
    ) -> Sequence[tuple[Txn, tuple[Event, ...]]]:
        """Do several transactions, each at its own revision, with one write to the disk: all are durable or
        none is."""
        before = self.revision
        try:
            self._sql.execute("BEGIN IMMEDIATE")
            outcomes = [self._txn(compares, ops) for compares, ops in txns]
            if self.revision > before:
                self._set("revision", self.revision)
            self._sql.execute("COMMIT")
        except BaseException as error:
            if not self._undo(before):
                return outcomes  # the commit failed only after it was done
            if isinstance(error, sqlite3.Error):
                raise storage_error(error) from error
            raise
        return outcomes

    def _undo(self, before: int) -> bool:
        """After a failure: roll back, and say whether nothing was written."""
        written = self.revision
        try:
            if self._sql.in_transaction:
                self._sql.execute("ROLLBACK")
            self.revision = self._number("SELECT number FROM state WHERE name = 'revision'", ())
        except sqlite3.Error as error:
            raise Ambiguous(f"the database failed while it wrote: {error}") from error
        return self.revision == before or self.revision != written

    def _txn(self, compares: Sequence[Compare], ops: Sequence[Op]) -> tuple[Txn, tuple[Event, ...]]:
        current = {compare.key: self._live(compare.key) for compare in compares}
        for compare in compares:
            item = current[compare.key]
            if compare.mod_revision != (item.mod_revision if item else 0):
                return Txn(False, self.revision, tuple(current[each.key] for each in compares)), ()
        revision = self.revision + 1
        events = []
        for op in ops:
            previous = current[op.key] if op.key in current else self._live(op.key)
            if isinstance(op, Put):
                events.append(self._put(op, previous, revision))
            elif previous is not None:
                events.append(self._delete(previous, revision))
        if events:
            self.revision = revision
        return Txn(True, self.revision), tuple(events)

    def _put(self, op: Put, previous: KeyValue | None, revision: int) -> Event:
        item = KeyValue(op.key, op.value, previous.create_revision if previous else revision, revision)
        row = self._sql.execute(
            "INSERT INTO log (revision, key, value, created) VALUES (?, ?, ?, ?)",
            (revision, op.key, op.value, item.create_revision),
        ).lastrowid
        self._sql.execute("INSERT OR REPLACE INTO live (key, id) VALUES (?, ?)", (op.key, row))
        return Event(revision, op.key, item)

    def _delete(self, previous: KeyValue, revision: int) -> Event:
        self._sql.execute(
            "INSERT INTO log (revision, key, value, created) VALUES (?, ?, NULL, ?)",
            (revision, previous.key, previous.create_revision),
        )
        self._sql.execute("DELETE FROM live WHERE key = ?", (previous.key,))
        return Event(revision, previous.key, None)

    # Compaction

    def compact(self, revision: int) -> None:
        """Make the revisions before this one unreadable; `purge` then frees their space."""
        if revision > self.revision:
            raise FutureRevision(self.revision)
        if revision <= self.compacted:
            return
        self._set("compacted", revision)
        self.compacted = revision

    def purge(self) -> bool:
        """Free some of the space of what has been compacted, in the order of revisions.
        Says whether more is left."""
        start = self._number("SELECT number FROM state WHERE name = 'purged'", ())
        end = min(start + PURGE_REVISIONS, self.compacted)
        self._sql.execute("BEGIN IMMEDIATE")
        self._sql.execute(
            "DELETE FROM log WHERE revision >= ? AND revision < ? AND (value IS NULL OR EXISTS"
            " (SELECT 1 FROM log AS newer WHERE newer.key = log.key AND newer.revision > log.revision"
            " AND newer.revision <= ?))",
            (start, end, self.compacted),
        )
        self._set("purged", end)
        self._sql.execute("COMMIT")
        self._sql.execute("PRAGMA incremental_vacuum(256)").fetchall()
        return end < self.compacted

    def _set(self, name: str, number: int) -> None:
        self._sql.execute("UPDATE state SET number = ? WHERE name = ?", (number, name))


def _lock(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A file of its own: closing any descriptor of the database would drop the locks of SQLite itself.
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise Locked(f"{path} is in use by another process") from error
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return descriptor


def _open(path: Path | None) -> sqlite3.Connection:
    sql = sqlite3.connect(
        ":memory:" if path is None else path, isolation_level=None, check_same_thread=False, timeout=5.0
    )
    try:
        sql.execute("PRAGMA auto_vacuum = INCREMENTAL")
        sql.execute("PRAGMA journal_mode = WAL").fetchall()
        sql.execute("PRAGMA synchronous = FULL")
        sql.execute("PRAGMA cache_size = -16384")
        version = sql.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            sql.executescript(f"BEGIN;{SCHEMA}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;")
        elif version != SCHEMA_VERSION:
            raise Unavailable(f"{path} has schema version {version}; this program knows {SCHEMA_VERSION}")
    except sqlite3.Error as error:
        sql.close()
        raise Unavailable(f"{path} cannot be opened as a database: {error}") from error
    except BaseException:
        sql.close()
        raise
    return sql


def _event(key: bytes, value: bytes | None, created: int, revision: int) -> Event:
    return Event(revision, key, None if value is None else KeyValue(key, value, created, revision))


def storage_error(error: sqlite3.Error) -> StorageError:
    """What an error of SQLite means for the caller, when nothing was written."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return NoSpace("the disk is full")
    return Unavailable(f"the database failed: {error}")
