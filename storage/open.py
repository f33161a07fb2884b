"""Which store: the one place that knows all backends. gRPC is loaded only when etcd is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from storage.interface import Store
from storage.sqlite.store import SQLiteStore


@dataclass(frozen=True, slots=True)
class EtcdOptions:
    """How to reach etcd. `endpoints` are `host:port` or `http(s)://host:port`; TLS is used when a CA file is
    given or an endpoint says https. Files are PEM."""

    endpoints: tuple[str, ...] = ("127.0.0.1:2379",)
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    username: str = ""
    password: str = ""
    timeout: float = 5.0
    """Seconds that a call may take."""
    max_txn_ops: int = 128
    """What the servers take in one transaction (etcd's `--max-txn-ops`)."""


async def open_store(where: str | EtcdOptions) -> Store:
    """Open the store that `where` says: `sqlite:///path/to/file`, `sqlite://:memory:`, or etcd by its options
    or as `etcd://host:port,host:port`. Raises Locked, Unavailable, and ValueError for anything else."""
    if isinstance(where, EtcdOptions):
        return await _open_etcd(where)
    if where == "sqlite://:memory:":
        return await SQLiteStore.open(None)
    url = urlsplit(where)
    if url.scheme == "sqlite" and not url.netloc and url.path:
        return await SQLiteStore.open(Path(unquote(url.path)))
    if url.scheme == "etcd" and url.netloc:
        return await _open_etcd(EtcdOptions(endpoints=tuple(url.netloc.split(","))))
    raise ValueError(f"no store at {where!r}: give sqlite:///path or etcd://host:port")


async def _open_etcd(options: EtcdOptions) -> Store:
    from storage.etcd.client import EtcdStore

    return await EtcdStore.open(options)
