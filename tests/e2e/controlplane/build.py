"""Builds the real control plane that the end-to-end tests run against, once for each go.sum.

Why: tests that matter talk to a real kube-apiserver, and the Go modules beside this file pin which one. The
result goes to a cache folder named by the hash of go.sum, so that the six minutes are spent once a version
and machine. Plain Python 3.11 and the `go` command; must not need anything of the project.
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
from pathlib import Path

HERE = Path(__file__).resolve().parent
KUBERNETES = "1.36.3"
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
}


def cache_folder() -> Path:
    """Where the programs of this go.sum are kept; it may not exist yet."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256((HERE / "go.sum").read_bytes()).hexdigest()[:16]
    return root / "inference-apiserver" / "controlplane" / key


def find() -> Path | None:
    """The folder that holds all four programs: KUBEBUILDER_ASSETS, else the cache; None without them.

    Programs that KUBEBUILDER_ASSETS lacks (envtest ships no controller manager) mean that it is not used.
    """
    for folder in (os.environ.get("KUBEBUILDER_ASSETS"), cache_folder()):
        if folder and all(os.access(Path(folder) / name, os.X_OK) for name in PROGRAMS):
            return Path(folder)
    return None


def go_command() -> str:
    """The `go` program; leaves with a message when there is none."""
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if go is None:
        sys.exit(
            "Go was not found: install Go 1.26 or newer and run `make controlplane` again, "
            f"or set KUBEBUILDER_ASSETS to a folder with {', '.join(PROGRAMS)}."
        )
    return go


def build_one(go: str, name: str, package: str, target: Path) -> None:
    """Compile one program into `target`, saying that it is alive every 20 seconds."""
    major, minor, _ = KUBERNETES.split(".")
    version = "k8s.io/component-base/version"
    stamp = (
        f"-X {version}.gitVersion=v{KUBERNETES} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    )
    command = [go, "build", "-trimpath", "-ldflags", f"-s -w {stamp}", "-o", str(target / name), package]
    started = time.monotonic()
    print(f"{name}: building {package}", flush=True)
    with subprocess.Popen(command, cwd=HERE, env={**os.environ, "CGO_ENABLED": "0"}) as process:
        while True:
            try:
                code = process.wait(timeout=20)
                break
            except subprocess.TimeoutExpired:
                print(f"{name}: still building, {time.monotonic() - started:.0f} s", flush=True)
    if code:
        sys.exit(f"{name}: `go build` failed with exit code {code}")
    print(f"{name}: done in {time.monotonic() - started:.0f} s", flush=True)


def build() -> Path:
    """Build what is missing and return the folder. Two that run at once wait for each other."""
    final = cache_folder()
    final.parent.mkdir(parents=True, exist_ok=True)
    with (final.parent / f"{final.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (found := find()) is not None:
            return found
        go = go_command()
        with tempfile.TemporaryDirectory(prefix=f"{final.name}.", dir=final.parent) as scratch:
            folder = Path(scratch) / "bin"
            folder.mkdir()
            for name, package in PROGRAMS.items():
                build_one(go, name, package, folder)
            if final.exists():
                shutil.rmtree(final)
            folder.rename(final)
    return final


def main() -> None:
    """Print the folder of the control plane, building it first when it is not there."""
    folder = find() or build()
    print(f"control plane: {folder}")


if __name__ == "__main__":
    main()
