"""Which store a URL means."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from storage.etcd.client import EtcdStore
from storage.etcd.maintenance import trusts_progress
from storage.interface import Put
from storage.open import EtcdOptions, open_store
from storage.sqlite.store import SQLiteStore


async def test_a_sqlite_url_opens_a_file(tmp_path: Path) -> None:
    store = await open_store(f"sqlite://{tmp_path}/with%20space.db")
    assert isinstance(store, SQLiteStore)
    await store.txn([], [Put(b"/a", b"1")])
    await store.close()
    assert (tmp_path / "with space.db").exists()


async def test_memory_leaves_nothing_behind() -> None:
    store = await open_store("sqlite://:memory:")
    assert await store.revision() == 1
    await store.close()


async def test_etcd_is_opened_without_waiting_for_it() -> None:
    for where in ("etcd://127.0.0.1:9,127.0.0.1:10", EtcdOptions(endpoints=("127.0.0.1:9",))):
        store = await open_store(where)
        assert isinstance(store, EtcdStore)
        await store.close()


@pytest.mark.parametrize("url", ["", "sqlite:", "sqlite://relative.db", "etcd://", "redis://x", "/path"])
async def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no store at"):
        await open_store(url)


def test_grpc_is_not_loaded_when_there_is_no_etcd() -> None:
    code = "import storage.open, storage.cache, sys; sys.exit('grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("version", "trusted"),
    [
        ("3.4.23", False),
        ("3.4.31", True),
        ("3.5.1", False),
        ("3.5.12", False),
        ("3.5.13", True),
        ("3.5.16", True),
        ("3.6.8", True),
        ("3.3.27", False),
        ("4.0.0-alpha", True),
        ("unknown", False),
    ],
)
def test_progress_is_believed_only_where_it_is_right(version: str, trusted: bool) -> None:
    assert trusts_progress(version) is trusted


def test_the_generated_code_is_what_the_proto_generates() -> None:
    generate = Path(__file__).resolve().parents[2] / "storage/etcd/proto/generate.py"
    done = subprocess.run([sys.executable, str(generate), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
