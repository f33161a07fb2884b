"""How to reach etcd. Free of gRPC, so that reading options costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

from storage.ranges import MAX_BYTES, MAX_OPS


@dataclass(frozen=True, slots=True)
class EtcdOptions:
    """`endpoints` are `host:port` or `http(s)://host:port`; TLS is used when a CA file is given or an
    endpoint says https. Files are PEM and read again when a connection is made anew after a failure."""

    endpoints: tuple[str, ...] = ("127.0.0.1:2379",)
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""
    """The name that the servers' certificates are checked for, when it is not the endpoint's host."""
    username: str = ""
    password: str = ""
    timeout: float = 5.0
    """Seconds that a call may take."""
    max_txn_ops: int = MAX_OPS
    """What the servers take in one transaction (etcd's `--max-txn-ops`)."""
    max_txn_bytes: int = MAX_BYTES
    """What the servers take in one request (etcd's `--max-request-bytes`), less some room for keys."""
    probe_key: bytes = b"/registry/revision"
    """A key that we may read; it need not exist. It is read to learn the store's revision.
    A user with a role needs the prefix without its slash (`/registry`):
    for old servers a key right before it is written (see `watch`)."""

    def __repr__(self) -> str:
        return f"EtcdOptions(endpoints={self.endpoints!r}, username={self.username!r})"
