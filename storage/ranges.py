"""Facts about keys and transactions that both backends share."""

from __future__ import annotations

from collections.abc import Sequence

from storage.errors import TooLarge
from storage.interface import Compare, Op

MAX_OPS = 128
"""What etcd takes in one transaction by default (`--max-txn-ops`), compares and ops counted separately."""

MAX_BYTES = 1_500_000
"""What a transaction may weigh: a little under the 1.5 MiB that etcd takes by
default (`--max-request-bytes`)."""


def end_of_prefix(prefix: bytes) -> bytes:
    """The first key after all those that start with the prefix; empty when there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else b""


def check_txn(compares: Sequence[Compare], ops: Sequence[Op], *, max_ops: int, max_bytes: int) -> None:
    """Raises TooLarge for what the store would refuse, ValueError for a key that is written twice."""
    if max(len(compares), len(ops)) > max_ops:
        raise TooLarge(f"a transaction takes at most {max_ops} operations")
    weight = sum(len(op.key) + len(getattr(op, "value", b"")) for op in ops)
    if weight > max_bytes:
        raise TooLarge(f"a transaction takes at most {max_bytes} bytes, this one has {weight}")
    if len(ops) > 1 and len({op.key for op in ops}) < len(ops):
        raise ValueError("a transaction writes a key at most once")
