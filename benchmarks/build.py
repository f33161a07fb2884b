"""Builds the Go programs of the benchmark once for their sources: sample-apiserver, and what makes load.

Both are kept in the cache folder beside the control plane. Plain Python 3.11 and the `go` command.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 1200


@dataclass(frozen=True)
class Program:
    """A Go program in a folder of ours; `package` is what is compiled."""

    name: str
    package: str

    @property
    def folder(self) -> Path:
        """Where its go.mod is."""
        return HERE / self.name

    @property
    def path(self) -> Path:
        """Where it is kept; it may not exist yet."""
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        digest = hashlib.sha256()
        for path in sorted([*self.folder.glob("*.go"), *self.folder.glob("go.*")]):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return root / "inference-apiserver" / "benchmarks" / digest.hexdigest()[:16] / self.name


LOAD = Program("load", ".")
SAMPLE_APISERVER = Program("sampleapiserver", "k8s.io/sample-apiserver")


def build(program: Program) -> Path:
    """The program, compiled if it is not there yet. Two that build at once wait for each other."""
    final = program.path
    final.parent.mkdir(parents=True, exist_ok=True)
    with (final.parent / f"{program.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.access(final, os.X_OK):
            with tempfile.TemporaryDirectory(dir=final.parent) as scratch:
                _compile(program, Path(scratch) / program.name).rename(final)
    return final


def _compile(program: Program, target: Path) -> Path:
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if go is None:
        sys.exit("Go was not found: install Go 1.26 or newer and run this again.")
    print(f"{program.name}: building", file=sys.stderr, flush=True)
    command = [go, "build", "-trimpath", "-ldflags=-s -w", "-o", str(target), program.package]
    env = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run(command, cwd=program.folder, env=env, check=True, timeout=SECONDS)
    return target
