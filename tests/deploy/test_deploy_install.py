"""Installing into a real control plane, and removing again. There is no kubelet: what it would "
"report is written here."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cluster.controlplane import ControlPlane
from cluster.kubectl import Kubectl
from cluster.rest import Rest
from cluster.waiting import eventually

from apiserver.apis.served import api_service_name, group_versions
from certs.directory import CertDirectory
from certs.serving import Names
from deploy.install import install
from deploy.manifests import manifests, objects
from deploy.objects import path_of
from deploy.options import External, InstallOptions, ManifestOptions, UninstallOptions
from deploy.uninstall import uninstall

pytestmark = pytest.mark.e2e

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAMES = [api_service_name(group_version) for group_version in group_versions()]


class Discovery(http.server.BaseHTTPRequestHandler):
    """As much of a server as the aggregator needs to call it available."""

    def do_GET(self) -> None:
        body = json.dumps(
            {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "", "resources": []}
        ).encode()
        self.send_response(200 if self.path.startswith("/apis/ai.example.com/") else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def serving(cert_dir: Path, namespace: str) -> Iterator[int]:
    """A TLS server with the certificates of a directory, on a port of the loopback address."""
    CertDirectory(cert_dir).ensure(Names("inference-apiserver", namespace), datetime.now(UTC))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Discovery)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert_dir / "tls.crt", cert_dir / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture
def where(controlplane: ControlPlane, rest: Rest) -> Iterator[str]:
    """A namespace name of the test's own, and no APIService of ours before and after."""
    name = f"ai-{uuid.uuid4().hex[:8]}"
    yield name
    for api_service in NAMES:
        rest.request("DELETE", f"{API_SERVICES}/{api_service}")
    for obj in objects(ManifestOptions(namespace=name)):
        if "namespace" not in obj["metadata"] or obj["metadata"]["namespace"] != name:
            rest.request("DELETE", path_of(obj))


Run = Callable[..., Any]


@pytest.fixture
def run(controlplane: ControlPlane, where: str) -> Run:
    """Installs into the control plane; returns exit code and lines."""

    async def start(
        external: External | None = None, timeout: float = 30, **chosen: Any
    ) -> tuple[int, list[str]]:
        lines: list[str] = []
        options = InstallOptions(
            kubeconfig=str(controlplane.kubeconfig),
            manifests=ManifestOptions(namespace=where, **chosen),
            external=external,
            timeout_seconds=timeout,
        )
        return await install(options, lines.append), lines

    return start


@pytest.fixture
def remove(controlplane: ControlPlane, where: str) -> Run:
    """Uninstalls; returns exit code and lines."""

    async def start(purge: bool = False) -> tuple[int, list[str]]:
        lines: list[str] = []
        options = UninstallOptions(kubeconfig=str(controlplane.kubeconfig), namespace=where, purge=purge)
        return await uninstall(options, lines.append), lines

    return start


def test_kubectl_accepts_every_manifest_on_the_server(
    kubectl_of_cluster: Kubectl, rest: Rest, where: str
) -> None:
    text = manifests(ManifestOptions(namespace=where))
    rest.create("/api/v1/namespaces", {"metadata": {"name": where}})
    told = kubectl_of_cluster("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text)
    assert len(told.splitlines()) == len(objects(ManifestOptions(namespace=where)))
    told = kubectl_of_cluster.run("apply", "--dry-run=server", "-f", "-", stdin=text)
    assert told.code == 0, told.err
    # The namespace that the test made was not made by apply, which kubectl remarks upon.
    assert [line for line in told.err.splitlines() if "namespaces" not in line] == []


async def test_a_server_outside_of_the_cluster_is_registered_and_again_nothing_changes(
    run: Run, remove: Run, rest: Rest, where: str, tmp_path: Path
) -> None:
    with serving(tmp_path, where) as port:
        external = External(host="localhost", port=port, cert_dir=tmp_path)
        code, lines = await run(external)
        assert code == 0, lines
        assert lines[-1].endswith("available")
        assert (
            rest.get(f"/api/v1/namespaces/{where}/services/inference-apiserver")["spec"]["type"]
            == "ExternalName"
        )
        code, lines = await run(external)
        assert code == 0, lines
        applied = [line for line in lines if not line.endswith("available")]
        assert applied
        assert all(line.endswith("unchanged") for line in applied), lines
        code, lines = await remove()
        assert code == 0, lines
        assert not any(rest.exists(f"{API_SERVICES}/{name}") for name in NAMES)
        assert rest.exists(f"/api/v1/namespaces/{where}")


def test_the_pods_meet_the_standard_that_their_namespace_enforces(rest: Rest, where: str) -> None:
    made = objects(ManifestOptions(namespace=where))
    rest.create("/api/v1/namespaces", made[0])
    for obj in made:
        if obj["kind"] in ("Deployment", "StatefulSet"):
            spec = obj["spec"]["template"]["spec"]
            names = [mount["name"] for container in spec["containers"] for mount in container["volumeMounts"]]
            # The volume of a claim comes from the StatefulSet's controller.
            spec["volumes"] = [{"name": name, "emptyDir": {}} for name in names]
            pod = {"metadata": {"name": "a"}, "spec": spec}
            rest.create(f"/api/v1/namespaces/{where}/pods?dryRun=All", pod)


async def test_users_of_the_built_in_roles_may_use_the_resources_after_an_installation(
    run: Run, controlplane: ControlPlane, rest: Rest, where: str, tmp_path: Path
) -> None:
    with serving(tmp_path, where) as port:
        code, lines = await run(External(host="localhost", port=port, cert_dir=tmp_path))
        assert code == 0, lines
    binding = {
        "metadata": {"name": "bob"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}],
    }
    rest.create(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{where}/rolebindings", binding)
    assert eventually("edit covers jobs", lambda: allowed(rest, where, "bob", "create", "inferencejobs"))
    assert allowed(rest, where, "bob", "list", "inferencejobs")
    assert not allowed(rest, where, "bob", "update", "inferencejobs", "status")


def allowed(
    rest: Rest, namespace: str, user: str, verb: str, resource: str, sub: str = "", **more: str
) -> bool:
    """Whether RBAC allows it."""
    group = more.pop("group", "ai.example.com")
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": sub,
    }
    review = {"spec": {"user": user, "resourceAttributes": {**attributes, **more}}}
    answer = rest.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


async def test_an_api_service_of_somebody_else_is_refused_and_left_alone(
    run: Run, remove: Run, rest: Rest, where: str, tmp_path: Path
) -> None:
    spec = {"group": "ai.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    spec |= {"service": {"namespace": "other", "name": "theirs"}}
    theirs = rest.create(API_SERVICES, {"metadata": {"name": NAMES[0]}, "spec": spec})
    code, lines = await run(External(host="localhost", port=1, cert_dir=tmp_path))
    assert code == 1
    assert "belongs to the Service other/theirs" in lines[-1]
    assert not rest.exists(f"/api/v1/namespaces/{where}")
    await remove()
    assert rest.get(f"{API_SERVICES}/{NAMES[0]}")["metadata"]["uid"] == theirs["metadata"]["uid"]


async def test_a_wrong_authority_is_explained(run: Run, where: str, tmp_path: Path) -> None:
    with serving(tmp_path / "servers", where) as port:
        code, lines = await run(
            External(host="localhost", port=port, cert_dir=tmp_path / "others"), timeout=6
        )
    assert code == 1
    assert "CA mismatch" in lines[-1]


async def test_a_server_that_does_not_run_is_explained(run: Run, where: str, tmp_path: Path) -> None:
    with serving(tmp_path, where) as port:
        pass
    code, lines = await run(External(host="localhost", port=port, cert_dir=tmp_path), timeout=6)
    assert code == 1
    assert "nobody listens" in lines[-1]


async def test_pods_that_do_not_start_are_explained_and_nothing_is_registered(
    run: Run, rest: Rest, where: str
) -> None:
    code, lines = await run(timeout=2)
    assert code == 1
    assert "its controller has not seen it yet" in lines[-1]
    assert not any(rest.exists(f"{API_SERVICES}/{name}") for name in NAMES)


async def test_an_installation_in_the_cluster_keeps_its_certificates_and_its_data(
    run: Run, remove: Run, rest: Rest, where: str
) -> None:
    await run(timeout=1)
    play_controllers(rest, where)
    secret = f"/api/v1/namespaces/{where}/secrets/inference-apiserver-certs"
    before = rest.get(secret)["data"]
    code, lines = await run(timeout=4)
    # The workload counts as ready now, and the aggregator finds no pod behind the Service.
    assert code == 1
    assert "no endpoints" in lines[-1]
    assert rest.get(secret)["data"] == before
    bundle = rest.get(f"{API_SERVICES}/{NAMES[0]}")["spec"]["caBundle"]
    assert bundle == before["ca-bundle.crt"]
    claim = create_claim(rest, where)
    code, lines = await remove()
    assert code == 0, lines
    assert "deleted" in lines[0]
    assert "APIService" in lines[0]
    assert rest.exists(claim)
    left = [obj for obj in objects(ManifestOptions(namespace=where)) if rest.exists(path_of(obj))]
    assert [obj["kind"] for obj in left] == ["Namespace"]
    assert (await remove())[1] == ["nothing is installed"]


def create_claim(rest: Rest, namespace: str) -> str:
    """The volume claim that the StatefulSet's controller would make, without the protection that nobody here
    would take off again; returns its path."""
    claims, name = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", "data-inference-apiserver-etcd-0"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    rest.create(claims, {"metadata": {"name": name}, "spec": spec})
    rest.merge(f"{claims}/{name}", {"metadata": {"finalizers": None}})
    return f"{claims}/{name}"


def play_controllers(rest: Rest, namespace: str) -> None:
    """Report the workloads as ready, as the controllers of apps/v1 would."""
    for plural, name in (
        ("statefulsets", "inference-apiserver-etcd"),
        ("deployments", "inference-apiserver"),
    ):
        path = f"/apis/apps/v1/namespaces/{namespace}/{plural}/{name}"
        if not rest.exists(path):
            continue
        obj = rest.get(path)
        count = obj["spec"]["replicas"]
        status = {"observedGeneration": obj["metadata"]["generation"], "replicas": count}
        status |= {"updatedReplicas": count, "readyReplicas": count, "availableReplicas": count}
        rest.merge(f"{path}/status", {"status": status})


async def test_purge_removes_volumes_and_the_namespace(run: Run, remove: Run, rest: Rest, where: str) -> None:
    await run(timeout=1)
    create_claim(rest, where)
    code, lines = await remove(purge=True)
    assert code == 0, lines
    assert not rest.exists(f"/api/v1/namespaces/{where}")


async def test_a_namespace_that_others_made_is_used_but_not_changed(
    run: Run, remove: Run, rest: Rest, where: str
) -> None:
    made = rest.create("/api/v1/namespaces", {"metadata": {"name": where}})
    _, lines = await run(timeout=1)
    assert lines[0] == f"Namespace {where}: exists, left as it is"
    found = rest.get(f"/api/v1/namespaces/{where}")
    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    await remove(purge=True)
    assert rest.exists(f"/api/v1/namespaces/{where}")


async def test_the_server_may_do_what_it_needs_and_no_more(run: Run, rest: Rest, where: str) -> None:
    await run(timeout=1)
    server = f"system:serviceaccount:{where}:inference-apiserver"
    core = {"group": ""}
    for namespace, verb, resource, sub, more in (
        ("ml", "create", "pods", "binding", core),
        ("ml", "create", "persistentvolumeclaims", "", core),
        ("ml", "create", "events", "", core),
        ("", "watch", "nodes", "", core),
        ("", "create", "subjectaccessreviews", "", {"group": "authorization.k8s.io"}),
        ("kube-system", "watch", "configmaps", "", {**core, "name": "extension-apiserver-authentication"}),
        (where, "patch", "secrets", "", {**core, "name": "inference-apiserver-certs"}),
        ("", "patch", "apiservices", "", {"group": "apiregistration.k8s.io", "name": NAMES[0]}),
        ("ml", "update", "inferencejobs", "finalizers", {}),
    ):
        assert allowed(rest, namespace, server, verb, resource, sub, **more), (verb, resource)
    for namespace, verb, resource, more in (
        (where, "get", "secrets", {**core, "name": "another"}),
        ("ml", "get", "secrets", core),
        ("ml", "patch", "pods", core),
        ("", "patch", "apiservices", {"group": "apiregistration.k8s.io", "name": "v1.apps"}),
        ("", "patch", "nodes", core),
    ):
        assert not allowed(rest, namespace, server, verb, resource, **more), (verb, resource)
