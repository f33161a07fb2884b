"""How answers are put on the wire: in as few pieces as possible, and never late."""

from __future__ import annotations

import asyncio
from typing import Any

from apiserver.server.transport import PatientTransport

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Wire:
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append(b"closed")


class Patience:
    lingers = False


def transport() -> tuple[Wire, PatientTransport]:
    wire: Any = Wire()
    return wire, PatientTransport(wire, Patience())


async def test_a_head_and_a_short_body_are_one_write() -> None:
    wire, patient = transport()
    patient.write(HEAD)
    patient.write(b"{}")
    await asyncio.sleep(0)
    assert wire.told == [HEAD + b"{}"]


async def test_a_head_does_not_wait_longer_than_for_the_next_turn_of_the_loop() -> None:
    wire, patient = transport()
    patient.write(HEAD)
    assert wire.told == []
    await asyncio.sleep(0)
    assert wire.told == [HEAD]


async def test_an_empty_piece_sends_the_head_at_once() -> None:
    wire, patient = transport()
    patient.write(HEAD)
    patient.write(b"")
    assert wire.told == [HEAD]


async def test_a_long_body_is_not_copied() -> None:
    wire, patient = transport()
    body = b"x" * 100_000
    patient.write(HEAD)
    patient.write(body)
    assert wire.told == [HEAD, body]
    assert wire.told[1] is body


async def test_pieces_of_a_long_body_go_out_as_they_come() -> None:
    wire, patient = transport()
    body = memoryview(b"x" * 100_000)
    patient.write(HEAD)
    patient.write(body[:99_000])
    patient.write(body[99_000:])
    assert b"".join(wire.told) == HEAD + body


async def test_closing_sends_a_head_that_waits() -> None:
    wire, patient = transport()
    patient.write(HEAD)
    patient.close()
    assert wire.told == [HEAD, b"closed"]


async def test_nothing_is_written_once_the_connection_is_lost() -> None:
    wire, patient = transport()
    patient.write(HEAD)
    patient.detach()
    patient.write(b"{}")
    await asyncio.sleep(0)
    assert wire.told == []
