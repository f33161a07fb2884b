"""The pytest fixtures of the real control plane. Loaded by `tests/conftest.py`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster import binaries, kubectl
from cluster.controlplane import ControlPlane
from cluster.kubectl import Kubectl
from cluster.rest import Rest
from cluster.server import AIServer

PLANE_KEY = pytest.StashKey[ControlPlane]()
SERVER_KEY = pytest.StashKey[AIServer]()


def required() -> bool:
    """Whether a missing control plane is a failure and not a skip."""
    return os.environ.get("REQUIRE_E2E", "") not in ("", "0")


def control_plane(folder: Path) -> ControlPlane:
    """A control plane, not started yet. Without its programs the test is skipped, or fails if required."""
    programs = binaries.find()
    if programs is None:
        if required():
            pytest.fail(binaries.MISSING, pytrace=False)
        pytest.skip(binaries.MISSING)
    return ControlPlane(programs, folder)


@pytest.fixture(scope="session")
def controlplane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A running control plane, one for the whole session."""
    plane = control_plane(tmp_path_factory.mktemp("controlplane"))
    request.config.stash[PLANE_KEY] = plane
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def rest(controlplane: ControlPlane) -> Rest:
    """A raw client of kube-apiserver with a certificate of system:masters."""
    return controlplane.rest


@contextmanager
def installed_server(
    config: pytest.Config, plane: ControlPlane, folder: Path, *flags: str
) -> Iterator[AIServer]:
    """Our server beside a control plane, installed and Available; its data is its own. Gone afterwards."""
    server = AIServer(plane, folder, prefix=f"/{folder.name}-{uuid.uuid4().hex[:6]}", flags=flags)
    config.stash[SERVER_KEY] = server
    try:
        server.start()
        server.install()
        yield server
        server.uninstall()
    finally:
        server.process.stop()


@pytest.fixture(scope="session")
def ai_server(
    request: pytest.FixtureRequest, controlplane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AIServer]:
    """Our server with all its controllers."""
    with installed_server(request.config, controlplane, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(params=kubectl.versions(), scope="module")
def kubectl_of_cluster(
    request: pytest.FixtureRequest, controlplane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Kubectl:
    """kubectl in each of the versions that this machine has."""
    program = kubectl.versions()[request.param]
    return Kubectl(program, controlplane.kubeconfig, tmp_path_factory.mktemp("kubectl-cache"))


@pytest.fixture
def new_namespace(rest: Rest) -> Callable[[], str]:
    """Makes namespaces with names that were never used."""

    def make() -> str:
        name = f"t-{uuid.uuid4().hex[:8]}"
        rest.create("/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    return make


@pytest.fixture
def namespace(rest: Rest, new_namespace: Callable[[], str]) -> Iterator[str]:
    """A namespace of the test's own. It is asked to go afterwards; nobody waits for that."""
    name = new_namespace()
    yield name
    rest.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show the ends of the logs with a test that failed."""
    report = yield
    if report.failed and {"controlplane", "plane", "ai_server"} & set(getattr(item, "fixturenames", ())):
        if (server := item.config.stash.get(SERVER_KEY, None)) is not None:
            report.sections.append(("inference-apiserver", server.process.tail(60)))
        if (plane := item.config.stash.get(PLANE_KEY, None)) is not None:
            report.sections.append(("control plane", plane.logs(8)))
    return report
