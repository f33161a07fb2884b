"""`dev`: the server, and a simulated host cluster beside it in the same process, on one machine and for one
user.

The server extends itself: its host client speaks to its own port, as it would to a real kube-apiserver, so
that what works here works there. Nobody gets in without the token that is made for the local administrator.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import tempfile
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
import yaml

from apiserver import run
from apiserver.admission.chain import AdmissionChain
from apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from apiserver.apis.ai.resources import RESOURCES
from apiserver.auth.anonymous import AnonymousAuthenticator
from apiserver.auth.authorizer import local_authorizer
from apiserver.auth.static_token import StaticTokenAuthenticator, ensure_token
from apiserver.auth.union import UnionAuthenticator
from apiserver.controllers.run import Controllers
from apiserver.host.client import HostClient
from apiserver.machinery.errors import APIError
from apiserver.options import ControllersConfig, DevConfig, ServingConfig
from apiserver.registry.build import build_registry
from apiserver.registry.local import LocalObjects
from apiserver.server.chain import ChainConfig
from apiserver.server.lifecycle import Lifecycle, bind
from apiserver.simulator.core import CORE_RESOURCES
from apiserver.simulator.fleet import Fleet
from apiserver.simulator.garbage_collector import GarbageCollector
from apiserver.simulator.kubelet import Kubelet
from apiserver.simulator.namespace_controller import NamespaceController
from apiserver.simulator.sample import NAMESPACES, narrate, sample_job
from certs.runner import publish_nothing
from storage.open import open_store

_log = structlog.get_logger(__name__)

CLUSTER = "inference-apiserver-dev"


class LocalNamespaces:
    """The simulated cluster's namespaces, for admission."""

    def __init__(self) -> None:
        self.objects: LocalObjects | None = None

    def cached(self, name: str) -> Mapping[str, Any] | None:  # noqa: ARG002 - asking the registry is as cheap
        """Nothing is kept."""
        return None

    async def live(self, name: str) -> Mapping[str, Any]:
        """The namespace. Raises 404."""
        assert self.objects is not None, "set once the registry has been built"
        return await self.objects.get("namespaces", "", name)


async def develop(config: DevConfig) -> None:
    """Run until told to stop. Raises OSError, StorageError and CertificateError when it cannot start."""
    async with AsyncExitStack() as stack:
        data = config.data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=CLUSTER)))
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        storage = await open_store(f"sqlite://{data.absolute() / 'objects.db'}")
        stack.push_async_callback(storage.close)
        namespaces = LocalNamespaces()
        admission = AdmissionChain([NamespaceLifecycle(namespaces)])
        resources = (*RESOURCES, *CORE_RESOURCES)
        registry, cache = build_registry(resources, storage, run.STANDALONE_PREFIX, admission)
        objects = namespaces.objects = LocalObjects(tuple(registry), "simulator")
        token = await asyncio.to_thread(ensure_token, data / "token")
        chain = ChainConfig(
            authenticator=UnionAuthenticator(
                (StaticTokenAuthenticator(token),), anonymous=AnonymousAuthenticator()
            ),
            authorizer=local_authorizer(),
            lifecycle=Lifecycle(),
            is_complete=lambda: cache.ready,
        )
        serving = ServingConfig(
            bind_address=config.bind_address, secure_port=config.secure_port, cert_dir=data / "certs"
        )
        tls, rotator = await run.certificates(serving, None, publish_nothing)
        listener = bind(config.bind_address, config.secure_port)
        server = run.Server(registry, cache, storage, chain, serving, tls, rotator, listener)
        kubeconfig = (config.kubeconfig_out or data / "kubeconfig").absolute()
        _write_kubeconfig(kubeconfig, server.address, rotator.material.ca_bundle_pem, token)
        host = await HostClient.from_kubeconfig(str(kubeconfig))
        stack.push_async_callback(host.close)
        jobs = [resource.plural for resource in RESOURCES if resource.namespaced]
        controllers = run.controllers(ControllersConfig(leader_elect=False), registry, host, "ai-system")
        contents = [resource.plural for resource in resources if resource.namespaced]
        await server.run(
            [
                _after(cache.wait_ready(), Kubelet(objects).run()),
                _after(cache.wait_ready(), GarbageCollector(objects, [*jobs, "pods"]).run()),
                _after(cache.wait_ready(), NamespaceController(objects, contents).run()),
            ],
            controllers,
            _cluster(config, server, objects, controllers, kubeconfig),
        )


async def _cluster(
    config: DevConfig, server: run.Server, objects: LocalObjects, controllers: Controllers, kubeconfig: Path
) -> None:
    """What comes once the server listens: nodes, controllers, and the sample with its story."""
    await _populate(objects, Fleet(config.nodes, config.gpus_per_node))
    _say(f"serving at {server.address}; try:\n")
    _say(f"  export KUBECONFIG={kubeconfig}")
    _say("  kubectl get inferencejobs,gpunodes,pods\n")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(controllers.run())
        if config.sample:
            await _sample(objects)
        tasks.create_task(narrate(objects, _say))


async def _populate(objects: LocalObjects, fleet: Fleet) -> None:
    """Make the namespaces and nodes that are not there, and remove nodes beyond the fleet."""
    for name in NAMESPACES:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        with _unless(409):
            await objects.create("namespaces", namespace)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    wanted = {node["metadata"]["name"]: node for node in fleet.manifests(now)}
    present, _ = await objects.list("nodes")
    for node in present:
        if node["metadata"]["name"] not in wanted:
            await objects.delete("nodes", node)
    for name, node in wanted.items():
        with _unless(409):
            created = await objects.create("nodes", node)
            await objects.update_status("nodes", {**created, "status": node["status"]})
        live = await objects.get("nodes", "", name)
        if (live.get("status") or {}).get("capacity") != node["status"]["capacity"]:
            await objects.update_status("nodes", {**live, "status": node["status"]})


async def _sample(objects: LocalObjects) -> None:
    with _unless(409):
        await objects.create("inferencejobs", sample_job())
        _say("submitted the sample job (kubectl describe inferencejob sample tells its story)")


@contextlib.contextmanager
def _unless(code: int) -> Iterator[None]:
    """Let an API error of this code pass."""
    try:
        yield
    except APIError as error:
        if error.code != code:
            raise


async def _after(condition: Coroutine[Any, Any, None], job: Coroutine[Any, Any, None]) -> None:
    await condition
    await job


def _write_kubeconfig(path: Path, server: str, ca: bytes, token: str) -> None:
    """A kubeconfig for the local administrator, readable by its owner alone."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CLUSTER,
        "clusters": [
            {
                "name": CLUSTER,
                "cluster": {
                    "server": server,
                    "certificate-authority-data": base64.b64encode(ca).decode(),
                },
            }
        ],
        "users": [{"name": CLUSTER, "user": {"token": token}}],
        "contexts": [
            {"name": CLUSTER, "context": {"cluster": CLUSTER, "user": CLUSTER, "namespace": "default"}}
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        yaml.safe_dump(document, file, sort_keys=False)
    fresh.replace(path)


def _say(line: str) -> None:
    print(line, flush=True)
