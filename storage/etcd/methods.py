"""The calls of etcd that we use: their paths and messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from storage.etcd.proto import etcd_wire_pb2 as wire

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)


@dataclass(frozen=True, slots=True)
class Method(Generic[Q, A]):
    """One call; `writes` says that a lost answer leaves its outcome unknown."""

    path: str
    request: type[Q]
    answer: type[A]
    writes: bool = False

    @property
    def serialize(self) -> Callable[[Q], bytes]:
        """Request to bytes."""
        return self.request.SerializeToString

    @property
    def parse(self) -> Callable[[bytes], A]:
        """Bytes to answer."""
        return self.answer.FromString


RANGE = Method("/etcdserverpb.KV/Range", wire.RangeRequest, wire.RangeResponse)
TXN = Method("/etcdserverpb.KV/Txn", wire.TxnRequest, wire.TxnResponse, writes=True)
COMPACT = Method("/etcdserverpb.KV/Compact", wire.CompactionRequest, wire.CompactionResponse)
AUTHENTICATE = Method("/etcdserverpb.Auth/Authenticate", wire.AuthenticateRequest, wire.AuthenticateResponse)
STATUS = Method("/etcdserverpb.Maintenance/Status", wire.StatusRequest, wire.StatusResponse)
ALARM = Method("/etcdserverpb.Maintenance/Alarm", wire.AlarmRequest, wire.AlarmResponse)
DEFRAGMENT = Method("/etcdserverpb.Maintenance/Defragment", wire.DefragmentRequest, wire.DefragmentResponse)
WATCH = Method("/etcdserverpb.Watch/Watch", wire.WatchRequest, wire.WatchResponse)
