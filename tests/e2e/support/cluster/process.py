"""A child process that is sure to end: its own process group, its output in a file, every wait bounded."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def free_port() -> int:
    """A TCP port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _die_with_parent() -> None:
    """So that a test run that is killed leaves no servers behind (Linux prctl)."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A named child process. It is started by `start` and can be started again after `stop` or `kill`."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self.env = dict(env) if env is not None else None
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The id of the running process."""
        assert self._child is not None, f"{self.name} is not running"
        return self._child.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start it; output is appended to the log."""
        assert not self.running, f"{self.name} runs already"
        with self.log.open("ab") as out:
            out.write(f"--- {' '.join(self.command)}\n".encode())
            out.flush()
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self.env,
                preexec_fn=_die_with_parent,
            )

    def stop(self, seconds: float = 15) -> int | None:
        """SIGTERM, then SIGKILL to the whole group after `seconds`. Returns the exit code."""
        return self._end(signal.SIGTERM, seconds)

    def kill(self) -> int | None:
        """SIGKILL at once."""
        return self._end(signal.SIGKILL, 5)

    def _end(self, first: signal.Signals, seconds: float) -> int | None:
        child, self._child = self._child, None
        if child is None:
            return None
        if child.poll() is None:
            _signal_group(child.pid, first)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(seconds)
        _signal_group(child.pid, signal.SIGKILL)
        return child.wait(5)

    def wait_until(self, ready: Callable[[], bool], seconds: float, what: str = "ready") -> None:
        """Poll `ready` until it holds; fails early, with the log's end, when the process ends."""
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.running:
                raise AssertionError(f"{self.name} ended before it was {what}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name} was not {what} within {seconds:g} s:\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, lines: int = 40) -> str:
        """The last lines of the log."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
