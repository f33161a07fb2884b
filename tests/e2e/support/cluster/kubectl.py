"""kubectl as a user runs it: the one of the development packages, and the one on PATH when it differs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cluster.process import Process

TIMEOUT = 60


@dataclass(frozen=True)
class Output:
    """What a run of kubectl gave."""

    code: int
    out: str
    err: str


class KubectlError(AssertionError):
    """kubectl ended with an exit code that was not expected."""


@cache
def versions() -> dict[str, Path]:
    """The kubectl programs on this machine by their version, the newest first."""
    found: dict[str, Path] = {}
    for candidate in (Path(sys.executable).parent / "kubectl", shutil.which("kubectl")):
        if candidate is not None and os.access(candidate, os.X_OK):
            found.setdefault(_version(Path(candidate)), Path(candidate))
    return dict(sorted(found.items(), key=lambda item: _numbers(item[0]), reverse=True))


def _version(program: Path) -> str:
    command = [str(program), "version", "--client", "--output=json"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT)
    return str(json.loads(done.stdout)["clientVersion"]["gitVersion"])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


@dataclass(frozen=True)
class Kubectl:
    """One kubectl with one kubeconfig and a cache folder of its own."""

    program: Path
    kubeconfig: Path
    cache_dir: Path
    namespace: str = ""

    def inside(self, namespace: str) -> Kubectl:
        """The same with a default namespace."""
        return Kubectl(self.program, self.kubeconfig, self.cache_dir, namespace)

    def command(self, args: Sequence[str]) -> list[str]:
        """The whole command line."""
        flags = [f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.cache_dir}"]
        if self.namespace:
            flags.append(f"--namespace={self.namespace}")
        return [str(self.program), *flags, *args]

    def run(
        self, *args: str, stdin: str = "", env: dict[str, str] | None = None, timeout: float = TIMEOUT
    ) -> Output:
        """Run it to its end, whatever the exit code."""
        done = subprocess.run(
            self.command(args),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            env={**os.environ, **(env or {})},
        )
        return Output(done.returncode, done.stdout, done.stderr)

    def __call__(self, *args: str, stdin: str = "", env: dict[str, str] | None = None) -> str:
        """Run it, demand success, and give what it printed."""
        done = self.run(*args, stdin=stdin, env=env)
        if done.code:
            raise KubectlError(f"kubectl {' '.join(args)}: exit code {done.code}\n{done.err}{done.out}")
        return done.out

    def json(self, *args: str) -> Any:
        """Run it with `-o json` and parse what it printed."""
        return json.loads(self(*args, "--output=json"))

    @contextmanager
    def background(self, log: Path, *args: str) -> Iterator[Process]:
        """Run it beside the test; its output goes to `log`."""
        process = Process(f"kubectl {' '.join(args)}", self.command(args), log)
        process.start()
        try:
            yield process
        finally:
            process.kill()
