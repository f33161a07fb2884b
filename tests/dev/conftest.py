"""`dev` as a person runs it: a process of its own, told by signals, asked by kubectl."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PATIENCE = 60.0
"""Seconds that anything may take on a busy machine."""
POLL = 0.05
KUBECTL = Path(sys.executable).parent / "kubectl"


class Dev:
    """A running `dev`, its output, and kubectl against it."""

    def __init__(self, data: Path, *flags: str) -> None:
        self.data = data
        self.log = data.with_name(f"{data.name}-{time.monotonic_ns()}.log")
        command = [sys.executable, "-m", "apiserver.cli", "dev", f"--data-dir={data}", "--secure-port=0"]
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [*command, *flags],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    def says(self, pattern: str) -> re.Match[str]:
        """Wait until the output matches."""
        found = until(
            lambda: re.search(pattern, self.output) or (self.process.poll() is not None and self.output)
        )
        assert not isinstance(found, str), f"it ended without saying {pattern!r}:\n{found}"
        return found

    def kubectl(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """What kubectl prints; `fails` says whether it should."""
        done = subprocess.run(
            [str(KUBECTL), f"--kubeconfig={self.data / 'kubeconfig'}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def stop(self, number: int = signal.SIGTERM) -> int:
        """The exit code after a signal."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)


def until(condition: Callable[[], object]) -> object:
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(POLL)
    return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Dev]]:
    """Starts `dev`; a second call finds the data of the first one, unless told another directory."""
    started: list[Dev] = []

    def begin(*flags: str, data: str = "data") -> Dev:
        started.append(Dev(tmp_path / data, *flags))
        return started[-1]

    yield begin
    for dev in started:
        dev.kill()


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """One `dev` without the sample, for everything that does not change its ways."""
    running = Dev(tmp_path_factory.mktemp("dev") / "data", "--no-sample")
    running.says("Ctrl-C stops it")
    until(lambda: running.kubectl("get", "gpunodes", "-o", "name").count("gpunode") == 8)
    yield running
    try:
        assert running.stop() == 0, running.output
        assert "Traceback" not in running.output
    finally:
        running.kill()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], object]:
    """Polls."""
    return until


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]
