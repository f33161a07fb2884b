"""etcd, kube-apiserver and kube-controller-manager as processes on loopback, with authorities of their own.

The flags are the ones that a cluster with aggregation needs. There is no kubelet and no scheduler: tests
play the kubelet (`cluster.nodes`), and pods of our jobs are bound by our own controller.
"""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from cluster.certificates import Authority, Pair, service_account_key
from cluster.process import Process, free_port
from cluster.rest import Rest

LOCAL = "127.0.0.1"
# The address that the API server publishes may not be a loopback one; nothing connects to it (RFC 5737).
ADVERTISED = "192.0.2.1"
# Not the node controllers: without kubelets they would mark the fake nodes as lost and evict their pods.
CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "job-controller",
    "cronjob-controller",
)
USER_TOKEN = "token-of-a-plain-user"
ADMIN_TOKEN = "token-of-an-administrator"


@dataclass(frozen=True)
class _Keys:
    server: Pair
    server_ca: Path
    client_ca: Path
    front_proxy_ca: Path
    front_proxy: Pair
    admin: Pair
    controller_manager: Pair
    service_accounts: Pair
    user: Pair
    tokens: Path

    @classmethod
    def make(cls, folder: Path) -> _Keys:
        servers, clients = Authority(folder, "server-ca"), Authority(folder, "client-ca")
        proxies = Authority(folder, "front-proxy-ca")
        tokens = folder / "tokens.csv"
        tokens.write_text(f"{USER_TOKEN},alice,uid-alice\n{ADMIN_TOKEN},root,uid-root,system:masters\n")
        hosts = [LOCAL, "localhost", "kubernetes.default.svc", "10.0.0.1"]
        return cls(
            server=servers.server("kube-apiserver", hosts),
            server_ca=servers.files.cert,
            client_ca=clients.files.cert,
            front_proxy_ca=proxies.files.cert,
            front_proxy=proxies.client("front-proxy-client"),
            admin=clients.client("admin", ["system:masters"]),
            controller_manager=clients.client("system:kube-controller-manager", ["system:masters"]),
            service_accounts=service_account_key(folder),
            user=clients.client("bob"),
            tokens=tokens,
        )


class ControlPlane:
    """A control plane in a folder. Starts in a few seconds; its parts can be restarted one by one."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self.keys = _Keys.make(folder)
        self.etcd_url = f"http://{LOCAL}:{free_port()}"
        self.etcd = self._process("etcd", [str(binaries / "etcd"), *self._etcd_flags()])
        self.kube_apiserver = self._process(
            "kube-apiserver", [str(binaries / "kube-apiserver"), *self._apiserver_flags()]
        )
        self.kubeconfig = self.write_kubeconfig("admin", self.keys.admin)
        manager = self.write_kubeconfig("controller-manager", self.keys.controller_manager)
        self.controller_manager = self._process(
            "kube-controller-manager",
            [str(binaries / "kube-controller-manager"), *self._manager_flags(manager)],
        )
        self.rest = self.client(self.keys.admin)

    @property
    def processes(self) -> tuple[Process, ...]:
        """All parts, in the order in which they start."""
        return (self.etcd, self.kube_apiserver, self.controller_manager)

    def start(self, *, controllers: bool = True) -> None:
        """Start all parts, with or without controllers, and wait until kube-apiserver is ready."""
        self.etcd.start()
        self.etcd.wait_until(self._etcd_healthy, 30, "healthy")
        self.start_kube_apiserver()
        if controllers:
            self.controller_manager.start()

    def start_kube_apiserver(self) -> None:
        """Start it (again: same port, same data) and wait for /readyz."""
        self.kube_apiserver.start()
        self.kube_apiserver.wait_until(self._apiserver_ready, 90, "ready")

    def stop(self) -> None:
        """Stop all parts, the last started first."""
        for process in reversed(self.processes):
            # Only etcd's data could matter, and nobody reads it afterwards: a kill saves seconds a run.
            process.kill()

    def client(self, pair: Pair | None = None, token: str = "") -> Rest:
        """A raw client of kube-apiserver."""
        return Rest(LOCAL, self.port, self.keys.server_ca, pair, token)

    def write_kubeconfig(self, name: str, pair: Pair | None = None, token: str = "") -> Path:
        """A kubeconfig file (JSON is YAML) for a client certificate or a token."""
        user: dict[str, str] = {"token": token} if token else {}
        if pair is not None:
            user |= {"client-certificate": str(pair.cert), "client-key": str(pair.key)}
        cluster = {
            "server": f"https://{LOCAL}:{self.port}",
            "certificate-authority": str(self.keys.server_ca),
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "current-context": "test",
        }
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(config, indent=2))
        return path

    def logs(self, lines: int = 30) -> str:
        """The ends of all logs, for a failed test."""
        return "\n".join(f"===== {process.log}\n{process.tail(lines)}" for process in self.processes)

    def _process(self, name: str, command: list[str]) -> Process:
        return Process(name, command, self.folder / f"{name}.log")

    def _etcd_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.etcd_url}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _apiserver_ready(self) -> bool:
        try:
            socket.create_connection((LOCAL, self.port), timeout=1).close()
            return self.client(self.keys.admin).request("GET", "/readyz", timeout=5).status == 200
        except OSError:
            return False

    def _etcd_flags(self) -> list[str]:
        peer = f"http://{LOCAL}:{free_port()}"
        return [
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
        ]

    def _apiserver_flags(self) -> list[str]:
        keys = self.keys
        return [
            f"--etcd-servers={self.etcd_url}",
            f"--bind-address={LOCAL}",
            f"--secure-port={self.port}",
            f"--advertise-address={ADVERTISED}",
            f"--tls-cert-file={keys.server.cert}",
            f"--tls-private-key-file={keys.server.key}",
            f"--client-ca-file={keys.client_ca}",
            f"--token-auth-file={keys.tokens}",
            "--authorization-mode=Node,RBAC",
            "--requestheader-allowed-names=front-proxy-client",
            f"--requestheader-client-ca-file={keys.front_proxy_ca}",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            f"--proxy-client-cert-file={keys.front_proxy.cert}",
            f"--proxy-client-key-file={keys.front_proxy.key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={keys.service_accounts.cert}",
            f"--service-account-signing-key-file={keys.service_accounts.key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none",
        ]

    def _manager_flags(self, kubeconfig: Path) -> list[str]:
        return [
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--bind-address={LOCAL}",
            f"--secure-port={free_port()}",
            f"--service-account-private-key-file={self.keys.service_accounts.key}",
            f"--root-ca-file={self.keys.server_ca}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--leader-elect=false",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]
