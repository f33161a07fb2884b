"""SQLite: what was acknowledged survives kill -9, and one process has the file."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from storage.errors import Locked, Unavailable
from storage.interface import Put
from storage.sqlite.store import SQLiteStore

ROOT = Path(__file__).resolve().parents[2]
WRITER = """
import asyncio, sys
from pathlib import Path
from storage.interface import Put
from storage.sqlite.store import SQLiteStore

async def main():
    store = await SQLiteStore.open(Path(sys.argv[1]))

    async def write(name):
        number = 0
        while True:
            number += 1
            value = b"%d " % number + bytes(2000)
            outcome = await store.txn([], [Put(b"/%d/x" % name, value), Put(b"/%d/y" % name, value)])
            sys.stdout.write(f"{name} {number} {outcome.revision}\\n")
            sys.stdout.flush()

    await asyncio.gather(*(write(name) for name in range(4)))

asyncio.run(main())
"""


def start_writer(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def write_and_kill(path: Path, lines: int) -> dict[str, tuple[int, int]]:
    """Let a process write until it has acknowledged some, kill it, and return the last it acknowledged."""
    process = start_writer(path)
    assert process.stdout is not None
    acknowledged: dict[str, tuple[int, int]] = {}
    for count, line in enumerate(process.stdout, 1):
        if line.endswith("\n"):
            name, number, revision = line.split()
            acknowledged[name] = int(number), int(revision)
        if count == lines:
            os.kill(process.pid, signal.SIGKILL)
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    return acknowledged


async def test_no_acknowledged_write_is_lost_by_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    chance = random.Random(1)
    before = 1
    for _ in range(12):
        acknowledged = await asyncio.to_thread(write_and_kill, path, chance.randrange(1, 200))
        store = await SQLiteStore.open(path)
        now = await store.revision()
        assert now >= max(revision for _, revision in acknowledged.values()) > before
        for name, (number, revision) in acknowledged.items():
            page = await store.list(f"/{name}/".encode())
            x, y = page.items
            assert x.value == y.value
            assert x.mod_revision == y.mod_revision >= revision
            assert int(x.value.split()[0]) - number in (0, 1)
            then = (await store.list(f"/{name}/".encode(), revision=revision)).items
            assert [int(item.value.split()[0]) for item in then] == [number, number]
        await store.close()
        before = now


async def test_a_second_process_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    process = await asyncio.to_thread(start_writer, path)
    assert process.stdout is not None
    await asyncio.to_thread(process.stdout.readline)
    with pytest.raises(Locked, match="in use by another process"):
        await SQLiteStore.open(path)
    process.kill()
    process.stdout.close()
    await asyncio.to_thread(process.wait)
    await (await SQLiteStore.open(path)).close()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(Unavailable, match="cannot be opened"):
        await SQLiteStore.open(path)


async def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await SQLiteStore.open(path)).close()
    with sqlite3.connect(path) as sql:
        sql.execute("PRAGMA user_version = 99")
    sql.close()
    with pytest.raises(Unavailable, match="schema version 99"):
        await SQLiteStore.open(path)


async def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "store.db"
    await (await SQLiteStore.open(path)).close()
    assert path.stat().st_mode & 0o077 == 0


async def test_compaction_frees_rows(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    for _ in range(2000):
        outcome = await store.txn([], [Put(b"/a", b"x")])
    await store.compact(outcome.revision)
    await store.close()
    sql = sqlite3.connect(path)
    assert sql.execute("SELECT count(*) FROM log").fetchone() == (1,)
    sql.close()
