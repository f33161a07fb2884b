"""Our own server as users run it: a process started by its command line, registered by its own installer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cluster.controlplane import ControlPlane
from cluster.process import Process, free_port
from cluster.waiting import eventually

GROUPS = ("v1.ai.example.com", "v1alpha1.ai.example.com")
CLI = (sys.executable, "-m", "apiserver.cli")


class AIServer:
    """`inference-apiserver serve` beside a control plane. Started again it keeps its port and its data."""

    def __init__(self, plane: ControlPlane, folder: Path, *, prefix: str, flags: Sequence[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.plane = plane
        self.folder = folder
        self.port = free_port()
        self.cert_dir = folder / "certs"
        command = [*CLI, "serve", *self._flags(prefix), *flags]
        self.process = Process(
            "inference-apiserver", command, folder / "inference-apiserver.log", self._env()
        )

    def _flags(self, prefix: str) -> list[str]:
        kubeconfig = self.plane.kubeconfig
        return [
            "--storage=etcd",
            f"--etcd-servers={self.plane.etcd_url}",
            f"--etcd-prefix={prefix}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self.cert_dir}",
        ]

    def _env(self) -> dict[str, str]:
        # What a test run sets for itself (warnings as errors) is not what users run.
        return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}

    def start(self, seconds: float = 30) -> None:
        """Start it and wait for its own /readyz as kube-apiserver's aggregator would reach it."""
        self.process.start()
        self.process.wait_until(self._listens, seconds, "listening")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def install(self) -> None:
        """Register it with the cluster by its own command, and wait until it is Available."""
        self.cli(
            "install",
            f"--kubeconfig={self.plane.kubeconfig}",
            "--external-name=localhost",
            f"--port={self.port}",
            f"--cert-dir={self.cert_dir}",
        )
        self.wait_available()

    def uninstall(self) -> None:
        """Take it out of the cluster again."""
        self.cli("uninstall", f"--kubeconfig={self.plane.kubeconfig}")

    def cli(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run one of its other commands against this cluster."""
        env = self._env()
        done = subprocess.run([*CLI, *args], capture_output=True, text=True, timeout=60, env=env, check=False)
        assert not check or done.returncode == 0, (
            f"{' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done

    def wait_available(self, seconds: float = 60) -> None:
        """Wait until every APIService of ours is Available and serves."""
        for name in GROUPS:
            eventually(f"APIService {name} available", lambda name=name: self._available(name), seconds)

    def _available(self, name: str) -> bool:
        assert self.process.running, f"the server ended:\n{self.process.tail()}"
        path = f"/apis/apiregistration.k8s.io/v1/apiservices/{name}"
        conditions = self.plane.rest.get(path).get("status", {}).get("conditions", [])
        available = next((c for c in conditions if c["type"] == "Available"), {})
        assert available.get("status") == "True", f"{available}\n{self.process.tail(10)}"
        version, _, group = name.partition(".")
        return self.plane.rest.exists(f"/apis/{group}/{version}")
