"""`dev` as users run it: a process of its own, that can be killed and started again on the same data."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from cluster.process import Process, free_port

API = "/apis/ai.example.com/v1/namespaces"


class Dev:
    """A `dev` server. Started again it keeps its port and its data."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder, self.data, self.port = folder, folder / "data", free_port()
        command = [sys.executable, "-m", "apiserver.cli", "dev", f"--data-dir={self.data}", "--no-sample"]
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        arguments = [*command, f"--secure-port={self.port}", *flags]
        self.process = Process("dev", arguments, folder / "log", env)
        self.url = f"https://localhost:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.process.start()
        self.process.wait_until(self._listens, 30, "listening")
        self.token = (self.data / "token").read_text().strip()
        self.context = ssl.create_default_context(cadata=(self.data / "certs" / "ca.crt").read_text())

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return (self.data / "certs" / "ca.crt").exists()

    def client(self, seconds: float = 60) -> httpx.AsyncClient:
        """A client of the administrator."""
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.AsyncClient(base_url=self.url, verify=self.context, headers=headers, timeout=seconds)

    async def open_watch(
        self, namespace: str, version: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A watch of the jobs of a namespace, its headers read."""
        reader, writer = await asyncio.open_connection(
            "localhost", self.port, ssl=self.context, limit=1 << 16
        )
        path = f"{API}/{namespace}/inferencejobs?watch=1&resourceVersion={version}&timeoutSeconds=600"
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n\r\n"
        writer.write(head.encode())
        await reader.readuntil(b"\r\n\r\n")
        return reader, writer

    def megabytes(self) -> float:
        """Memory of the process."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def descriptors(self) -> int:
        """How many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@asynccontextmanager
async def running(folder: Path, *flags: str) -> AsyncIterator[tuple[Dev, httpx.AsyncClient]]:
    """A server that runs until the block ends, and a client of it."""
    server = Dev(folder, *flags)
    try:
        server.start()
        async with server.client() as client:
            yield server, client
    finally:
        server.process.stop()


def job(name: str, **spec: object) -> dict[str, object]:
    """A job that waits, so that no controller touches it."""
    whole = {"apiVersion": "ai.example.com/v1", "kind": "InferenceJob", "metadata": {"name": name}}
    return {**whole, "spec": {"image": "x", "suspend": True, **spec}}
