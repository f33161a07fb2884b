"""Which store: the one place that knows all backends. gRPC is loaded only when etcd is asked for."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from storage.etcd.options import EtcdOptions
from storage.interface import Store
from storage.sqlite.store import SQLiteStore

__all__ = ["EtcdOptions", "open_store"]

SQLITE_OPS = 1 << 16
"""Operations in one transaction of SQLite: it has no limit of its own."""


async def open_store(where: str | EtcdOptions) -> Store:
    """Open the store that `where` says: `sqlite:///path/to/file`, `sqlite://:memory:`, or etcd by its options
    or as `etcd://host:port,host:port`. Raises Locked, Unavailable, and ValueError for anything else."""
    if isinstance(where, EtcdOptions):
        return await _open_etcd(where)
    if where == "sqlite://:memory:":
        return await SQLiteStore.open(None, max_ops=SQLITE_OPS)
    url = urlsplit(where)
    if url.scheme == "sqlite" and not url.netloc and url.path:
        return await SQLiteStore.open(Path(unquote(url.path)), max_ops=SQLITE_OPS)
    if url.scheme == "etcd" and url.netloc:
        return await _open_etcd(EtcdOptions(endpoints=tuple(url.netloc.split(","))))
    raise ValueError(f"no store at {where!r}: give sqlite:///path or etcd://host:port")


async def _open_etcd(options: EtcdOptions) -> Store:
    from storage.etcd.client import EtcdStore

    return await EtcdStore.open(options)
