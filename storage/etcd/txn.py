"""Transactions. When the compares fail, the same call brings the present state of the compared keys."""

from __future__ import annotations

from collections.abc import Sequence

from storage.etcd.caller import Caller
from storage.etcd.methods import TXN
from storage.etcd.proto import etcd_wire_pb2 as wire
from storage.etcd.range import key_values
from storage.interface import Compare, Op, Put, Txn


async def txn(caller: Caller, compares: Sequence[Compare], ops: Sequence[Op]) -> Txn:
    """If all compares hold, do all ops. Raises Ambiguous when the answer was lost: it is never sent twice."""
    request = wire.TxnRequest(
        compare=[
            wire.Compare(
                result=wire.Compare.EQUAL,
                target=wire.Compare.MOD,
                key=each.key,
                mod_revision=each.mod_revision,
            )
            for each in compares
        ],
        success=[_op(op) for op in ops],
        failure=[wire.RequestOp(request_range=wire.RangeRequest(key=each.key)) for each in compares],
    )
    answer = await caller.call(TXN, request)
    if answer.succeeded:
        return Txn(True, answer.header.revision)
    found = [key_values(response.response_range.kvs) for response in answer.responses]
    return Txn(False, answer.header.revision, tuple(items[0] if items else None for items in found))


def _op(op: Op) -> wire.RequestOp:
    if isinstance(op, Put):
        return wire.RequestOp(request_put=wire.PutRequest(key=op.key, value=op.value))
    return wire.RequestOp(request_delete_range=wire.DeleteRangeRequest(key=op.key))
