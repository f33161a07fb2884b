"""Builds the Go programs that stand for the world's clients: one of our own on client-go, and Helm.

Why: what Python says of Go's clients is hearsay. Each program is compiled once for its sources and kept in
the cache folder beside the control plane. Plain Python 3.11 and the `go` command; must not need anything of
the project.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
HELM_VERSION = "v3.22.0"
SECONDS = 900


@dataclass(frozen=True)
class Program:
    """A Go program: how it is called, what the `go` command is told, and what its cache key is made of."""

    name: str
    arguments: tuple[str, ...]
    folder: Path
    key: str

    @property
    def path(self) -> Path:
        """Where it is kept; it may not exist yet."""
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return root / "inference-apiserver" / "clients" / self.key / self.name


def _hash(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def client_go() -> Program:
    """Our program on client-go, keyed by its sources."""
    folder = HERE / "clientgo"
    sources = [*folder.glob("*.go"), folder / "go.mod", folder / "go.sum"]
    return Program("clientgo", ("build", "-trimpath", "-ldflags=-s -w", "-o"), folder, _hash(sources))


def helm() -> Program:
    """Helm itself."""
    return Program(
        "helm", ("install", f"helm.sh/helm/v3/cmd/helm@{HELM_VERSION}"), HERE, f"helm-{HELM_VERSION}"
    )


def go_command() -> str | None:
    """The `go` program, if there is one."""
    return shutil.which("go") or shutil.which("/usr/local/go/bin/go")


def build(program: Program) -> Path:
    """The program, compiled if it is not there yet. Two that build at once wait for each other.

    Raises FileNotFoundError without Go, and subprocess.CalledProcessError when it does not compile.
    """
    final = program.path
    if os.access(final, os.X_OK):
        return final
    go = go_command()
    if go is None:
        raise FileNotFoundError("the go command")
    final.parent.mkdir(parents=True, exist_ok=True)
    with (final.parent / f"{program.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.access(final, os.X_OK):
            with tempfile.TemporaryDirectory(dir=final.parent) as scratch:
                (_compile(go, program, Path(scratch))).rename(final)
    return final


def _compile(go: str, program: Program, scratch: Path) -> Path:
    target = scratch / program.name
    env = {**os.environ, "CGO_ENABLED": "0", "GOBIN": str(scratch)}
    command = [go, *program.arguments]
    if program.arguments[0] == "build":
        command += [str(target), "."]
    subprocess.run(
        command, cwd=program.folder, env=env, check=True, timeout=SECONDS, capture_output=True, text=True
    )
    return target


def main() -> int:
    """Build both, saying how long it took."""
    for program in (client_go(), helm()):
        started = time.monotonic()
        try:
            path = build(program)
        except FileNotFoundError:
            print("Go was not found: install Go 1.26 or newer and run this again.", file=sys.stderr)
            return 1
        except subprocess.CalledProcessError as error:
            print(f"{program.name}: {error.stderr}", file=sys.stderr)
            return 1
        print(f"{program.name}: {path} ({time.monotonic() - started:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
