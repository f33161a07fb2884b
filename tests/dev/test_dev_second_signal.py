"""A person who presses Ctrl-C twice does not want to wait."""

from __future__ import annotations

import signal
import socket
import ssl

import pytest

LONG = 60
"""Seconds that the end in order waits for a request that does not end: `--request-timeout`."""
AT_ONCE = 10
"""Far less than that, and enough for a busy machine."""


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_it_at_once_although_a_request_is_under_way(start, eventually, second):
    dev = start("--no-sample")
    port = int(dev.says(r"https://localhost:(\d+)")[1])
    dev.says("Ctrl-C stops it")
    token = (dev.data / "token").read_text().strip()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=LONG) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(
            b"POST /apis/ai.example.com/v1/namespaces/default/inferencejobs HTTP/1.1\r\nHost: localhost\r\n"
            b"Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
            b"Authorization: Bearer " + token.encode() + b"\r\n\r\n"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 100 "), "it waits for the body"
        dev.process.send_signal(signal.SIGINT)
        eventually(lambda: _refuses(port))
        assert dev.process.poll() is None, "it ends in order first"
        assert _ends(dev, second) == 1
    assert "Traceback" not in dev.output


def _refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=LONG).close()
    except ConnectionRefusedError:
        return True
    return False


def _ends(dev, number: int) -> int:
    dev.process.send_signal(number)
    return dev.process.wait(AT_ONCE)
