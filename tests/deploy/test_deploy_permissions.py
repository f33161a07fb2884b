"""The installed permissions suffice: as its own service account the server takes a job through its life."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import jobs
from cluster.controlplane import ControlPlane
from cluster.nodes import Kubelets, create_gpu_node, delete_node, pods
from cluster.process import Process, free_port
from cluster.rest import Rest
from cluster.waiting import eventually

from deploy.install import install
from deploy.options import External, InstallOptions, ManifestOptions, UninstallOptions
from deploy.uninstall import uninstall

pytestmark = pytest.mark.e2e


@pytest.fixture
def where() -> str:
    """The namespace of the server."""
    return f"ai-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def node(rest: Rest) -> Iterator[str]:
    """A node with GPUs of a product of its own."""
    name = f"gpu-{uuid.uuid4().hex[:8]}"
    create_gpu_node(rest, name, product=name.upper())
    yield name
    delete_node(rest, name)


class Installed:
    """A server beside the control plane that may do only what the installation lets it do."""

    def __init__(self, plane: ControlPlane, namespace: str, folder: Path) -> None:
        self._plane = plane
        self._namespace = namespace
        self._folder = folder
        self._port = free_port()
        self.lines: list[str] = []
        self.process = Process("server", self._command(), folder / "server.log", _environment())

    async def start(self) -> None:
        """Install the permissions, start as the service account, register."""
        # The rollout cannot be completed here, but what comes before it is in the cluster then.
        await self._install(None, 1)
        self._kubeconfig()
        self.process.start()
        self.process.wait_until(self._listens, 30, "listening")
        external = External(host="localhost", port=self._port, cert_dir=self._folder / "certs")
        assert await self._install(external, 60) == 0, f"{self.lines}\n{self.process.tail()}"

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    async def remove(self) -> None:
        """Take everything out again."""
        options = UninstallOptions(kubeconfig=str(self._plane.kubeconfig), namespace=self._namespace)
        assert await uninstall(options, self.lines.append) == 0, self.lines

    async def _install(self, external: External | None, seconds: float) -> int:
        options = InstallOptions(
            kubeconfig=str(self._plane.kubeconfig),
            manifests=ManifestOptions(namespace=self._namespace),
            external=external,
            timeout_seconds=seconds,
        )
        return await install(options, self.lines.append)

    def _kubeconfig(self) -> None:
        accounts = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/inference-apiserver"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self._plane.rest.create(f"{accounts}/token", request)["status"]["token"]
        self._plane.write_kubeconfig(self._namespace, token=token)

    def _command(self) -> list[str]:
        kubeconfig = self._plane.folder / f"{self._namespace}.kubeconfig"
        return [
            *(sys.executable, "-m", "apiserver.cli", "serve", "--storage=etcd"),
            f"--etcd-servers={self._plane.etcd_url}",
            f"--etcd-prefix=/{self._namespace}",
            f"--kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--cert-dir={self._folder / 'certs'}",
            f"--service-namespace={self._namespace}",
        ]


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


async def test_a_job_is_placed_and_removed_with_the_permissions_of_the_service_account(
    controlplane: ControlPlane, rest: Rest, where: str, namespace: str, node: str, tmp_path: Path
) -> None:
    server = Installed(controlplane, where, tmp_path)
    try:
        await server.start()
        _take_through_its_life(rest, namespace, node)
        assert "orbidden" not in server.process.log.read_text()
    except AssertionError as error:
        raise AssertionError(f"{error}\n{server.process.tail()}") from error
    finally:
        await server.remove()
        server.process.stop()


def _take_through_its_life(rest: Rest, namespace: str, node: str) -> None:
    job = jobs.manifest("llama", gpuProducts=[node.upper()], replicas=2, scratch={"size": "1Gi"})
    rest.create(jobs.path(namespace), job)
    eventually("pods are bound", lambda: len(_bound(rest, namespace)) == 2, 40)
    claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    assert len(rest.get(claims)["items"]) == 2
    Kubelets(rest).step(namespace)
    eventually("the job is ready", lambda: _ready(rest, namespace), 30)
    eventually("events are written", lambda: rest.get(f"/api/v1/namespaces/{namespace}/events")["items"])
    rest.delete(jobs.path(namespace, "llama"))

    def gone() -> bool:
        Kubelets(rest).step(namespace)
        return not rest.exists(jobs.path(namespace, "llama")) and not pods(rest, namespace)

    eventually("job and pods are gone", gone, 40, every=0.5)


def _ready(rest: Rest, namespace: str) -> bool:
    Kubelets(rest).step(namespace)
    job = jobs.get(rest, namespace, "llama")
    assert jobs.condition(job, "Ready") == "True", job
    return True


def _bound(rest: Rest, namespace: str) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in pods(rest, namespace) if pod["spec"].get("nodeName")]
