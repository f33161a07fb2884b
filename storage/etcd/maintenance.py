"""The state of the servers, and what to do when their space is used up."""

from __future__ import annotations

import re
from dataclasses import dataclass

import grpc.aio

from storage.etcd.caller import Caller
from storage.etcd.compact import compact
from storage.etcd.faults import translate
from storage.etcd.methods import ALARM, DEFRAGMENT, STATUS
from storage.etcd.proto import etcd_wire_pb2 as wire

NOSPACE = 1
DEFRAGMENT_TIMEOUT = 60.0
"""Seconds; a member that is defragmented answers nothing else meanwhile."""


@dataclass(frozen=True, slots=True)
class Status:
    """One server: its version, bytes on disk and in use, and whether its space is used up."""

    version: str
    db_size: int
    db_size_in_use: int
    has_leader: bool
    no_space: bool


async def status(caller: Caller) -> Status:
    """The status of the present endpoint."""
    answer = await caller.call(STATUS, wire.StatusRequest())
    no_space = any("NOSPACE" in error for error in answer.errors)
    return Status(answer.version, answer.db_size, answer.db_size_in_use, answer.leader != 0, no_space)


async def reclaim_space(caller: Caller, revision: int) -> None:
    """The way out of NoSpace, after something was deleted:
    forget the history before `revision`, give the free pages back on every member, take back the alarm.
    Old revisions are lost, so watches that lag start anew."""
    await compact(caller, revision)
    metadata = await caller.metadata()
    for connection in caller.connections:
        try:
            await connection.call(DEFRAGMENT, wire.DefragmentRequest(), metadata, DEFRAGMENT_TIMEOUT)
        except grpc.aio.AioRpcError as error:
            raise translate(error, writes=False) from error
    alarms = await caller.call(ALARM, wire.AlarmRequest(action=wire.AlarmRequest.GET, alarm=NOSPACE))
    for alarm in alarms.alarms:
        if alarm.alarm == NOSPACE:
            disarm = wire.AlarmRequest(
                action=wire.AlarmRequest.DEACTIVATE, member_id=alarm.member_id, alarm=NOSPACE
            )
            await caller.call(ALARM, disarm)


def trusts_progress(version: str) -> bool:
    """Whether answers to manual progress requests of this version can be believed: before 3.4.31 and 3.5.13
    they claim revisions whose events have not been sent yet."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if match is None:
        return False
    major, minor, patch = (int(part) for part in match.groups())
    if (major, minor) == (3, 4):
        return patch >= 31
    if (major, minor) == (3, 5):
        return patch >= 13
    return (major, minor) > (3, 5)
