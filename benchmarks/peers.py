"""The three servers that are compared, side by side on one etcd, each spoken to directly.

A peer is a process with an address, a collection and a body for new objects. All serve with TLS and keys of
the same kind, know the same bearer token (ours and sample-apiserver ask kube-apiserver, as aggregated servers
do), and hold objects of the same size.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster import binaries
from cluster.certificates import Authority
from cluster.controlplane import ADMIN_TOKEN, LOCAL, ControlPlane
from cluster.process import Process, free_port
from cluster.rest import Rest
from cluster.waiting import eventually
from differential.crd import custom_resource_definition

from apiserver.apis.ai.resources import INFERENCE_JOBS
from benchmarks.build import SAMPLE_APISERVER, build

JSON = dict[str, Any]

OURS, SAMPLE, CRD = "ours", "sample-apiserver", "CRD"
NAMESPACE, SCRATCH = "bench", "scratch"
CRD_GROUP = "cr.example.com"
SIZE = 1100
"""Bytes of an object as it is served; short ones are padded with an annotation."""
PREFIX = "/bench-ours"


@dataclass
class Peer:
    """One of those that are compared."""

    name: str
    process: Process
    port: int
    ca: Path
    group_version: str
    plural: str
    body: JSON
    padding: int = 0
    rest: Rest = field(init=False)

    def __post_init__(self) -> None:
        self.rest = Rest("localhost", self.port, self.ca, token=ADMIN_TOKEN, timeout=120)

    def path(self, namespace: str = NAMESPACE, name: str = "") -> str:
        """The path of a collection, or of an object."""
        collection = f"/apis/{self.group_version}/namespaces/{namespace}/{self.plural}"
        return f"{collection}/{name}" if name else collection

    def manifest(self, name: str = "{name}") -> JSON:
        """A new object of the common size."""
        metadata: JSON = {"name": name, "labels": {"app": "bench", "tier": "batch"}}
        if self.padding:
            metadata["annotations"] = {"example.com/notes": "x" * self.padding}
        return {**self.body, "metadata": metadata}

    def pad(self) -> int:
        """Find out how much padding brings an object to SIZE; gives the size reached."""
        for name in ("pad-a", "pad-b"):
            made = self.rest.request(
                "POST", self.path(SCRATCH), json.dumps(self.manifest(name)).encode(), _JSON_HEADERS
            )
            assert made.status == 201, made.body
            size = len(made.body)
            if name == "pad-a":
                # The annotation's own name, and its entries in managedFields, take about 100 bytes.
                self.padding = max(SIZE - size - 100, 0)
        return size

    def ready(self) -> bool:
        """Whether /readyz says ok."""
        return self._answers("/readyz")

    def lists(self) -> bool:
        """Whether all objects can be listed: upstream's /readyz is ok while its cache still fills."""
        return self._answers(self.path())

    def _answers(self, path: str) -> bool:
        try:
            return self.rest.request("GET", path, timeout=20).status == 200
        except OSError:
            return False

    def cpu(self) -> float:
        """Seconds of processor time that the process has used."""
        return cpu_seconds(self.process)

    def resident(self) -> int:
        """Bytes of memory that the process has resident."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024


def cpu_seconds(process: Process) -> float:
    """Seconds of processor time that a process has used, in user and kernel mode."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


_JSON_HEADERS = {"Content-Type": "application/json"}

_JOB_SPEC: JSON = {
    "image": "registry.example.com/vllm:0.9",
    "model": "s3://models/llama-3-8b",
    "gpuCount": 2,
    "replicas": 1,
    "args": ["--max-model-len", "8192"],
    "env": [{"name": "LOG_LEVEL", "value": "info"}],
    "priority": 5,
}


@dataclass
class Field:
    """The control plane and the peers on it, the one that matters first."""

    plane: ControlPlane
    peers: dict[str, Peer]
    folder: Path

    @property
    def ours(self) -> Peer:
        """Our own server."""
        return self.peers[OURS]


@contextmanager
def field_of(folder: Path, names: Sequence[str] = (OURS, SAMPLE, CRD)) -> Iterator[Field]:
    """Start the control plane and the peers; all is gone afterwards."""
    programs = binaries.find()
    if programs is None:
        sys.exit(binaries.MISSING)
    with ExitStack() as stack:
        plane = ControlPlane(programs, folder / "plane")
        stack.callback(plane.stop)
        plane.start(controllers=False)
        for namespace in (NAMESPACE, SCRATCH):
            plane.rest.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        makers = {OURS: our_server, SAMPLE: sample_apiserver, CRD: custom_resource}
        found = Field(plane, {}, folder)
        for name in names:
            peer = makers[name](plane, folder)
            if name != CRD:
                stack.callback(peer.process.kill)
                peer.process.start()
                peer.process.wait_until(peer.ready, 60)
            eventually(
                f"{name} to know the namespace", lambda peer=peer: peer.rest.exists(peer.path(SCRATCH)), 30
            )
            size = peer.pad()
            print(f"{name}: objects of {size} bytes", file=sys.stderr, flush=True)
            found.peers[name] = peer
        yield found


def _serving_files(folder: Path, name: str) -> tuple[list[str], Path]:
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority(folder, f"{name}-ca")
    pair = authority.server(name, ["localhost", LOCAL])
    return [f"--tls-cert-file={pair.cert}", f"--tls-private-key-file={pair.key}"], authority.files.cert


def _aggregated(plane: ControlPlane, port: int) -> list[str]:
    """What both aggregated servers are told alike."""
    return [
        f"--etcd-servers={plane.etcd_url}",
        f"--kubeconfig={plane.kubeconfig}",
        f"--authentication-kubeconfig={plane.kubeconfig}",
        f"--authorization-kubeconfig={plane.kubeconfig}",
        f"--bind-address={LOCAL}",
        f"--secure-port={port}",
    ]


def our_server(
    plane: ControlPlane, folder: Path, prefix: str = PREFIX, controllers: str = "-inferencejob,-gpunode"
) -> Peer:
    """Our server, not started. Without its controllers: nobody reconciles the objects of the others."""
    port = free_port()
    tls, ca = _serving_files(folder, "ours")
    command = [
        *(sys.executable, "-m", "apiserver.cli", "serve", "--storage=etcd", f"--etcd-prefix={prefix}"),
        *_aggregated(plane, port),
        *tls,
        f"--controllers={controllers}",
    ]
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    process = Process("inference-apiserver", command, folder / "ours.log", env)
    body = {"apiVersion": "ai.example.com/v1", "kind": "InferenceJob", "spec": _JOB_SPEC}
    return Peer(OURS, process, port, ca, "ai.example.com/v1", "inferencejobs", body)


def sample_apiserver(plane: ControlPlane, folder: Path) -> Peer:
    """Kubernetes' example of an aggregated server, not started. Its objects are small: they are padded."""
    port = free_port()
    tls, ca = _serving_files(folder, "sample")
    command = [str(build(SAMPLE_APISERVER)), *_aggregated(plane, port), *tls]
    process = Process("sample-apiserver", command, folder / "sample.log")
    body = {
        "apiVersion": "wardle.example.com/v1alpha1",
        "kind": "Flunder",
        "spec": {"reference": "other", "referenceType": "Flunder"},
    }
    return Peer(SAMPLE, process, port, ca, "wardle.example.com/v1alpha1", "flunders", body)


def custom_resource(plane: ControlPlane, folder: Path) -> Peer:  # noqa: ARG001 - as the others
    """A custom resource with our schema, on the kube-apiserver that runs already."""
    definition = custom_resource_definition(INFERENCE_JOBS, CRD_GROUP)
    plane.rest.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    path = f"/apis/{CRD_GROUP}/v1/inferencejobs"
    eventually(f"{path} served", lambda: plane.rest.exists(path), 30)
    body = {"apiVersion": f"{CRD_GROUP}/v1", "kind": "InferenceJob", "spec": _JOB_SPEC}
    ca = plane.keys.server_ca
    return Peer(CRD, plane.kube_apiserver, plane.port, ca, f"{CRD_GROUP}/v1", "inferencejobs", body)
