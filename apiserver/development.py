"""`dev`: the server, and a simulated host cluster beside it in the same process,
on one machine and for one user.

The server extends itself: its host client speaks to its own port, as it would to a real kube-apiserver, so
that what works here works there. Nobody gets in without the token that is made for the local administrator.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from apiserver import run
from apiserver.admission.chain import AdmissionChain
from apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from apiserver.apis.ai.resources import RESOURCES
from apiserver.auth.anonymous import AnonymousAuthenticator
from apiserver.auth.authorizer import local_authorizer
from apiserver.auth.request import Credentials
from apiserver.auth.static_token import StaticTokenAuthenticator, ensure_token
from apiserver.auth.token import bearer_token
from apiserver.auth.union import UnionAuthenticator
from apiserver.auth.user import UserInfo
from apiserver.config import ControllersConfig, DevConfig, ServingConfig
from apiserver.controllers.run import Controllers
from apiserver.host.client import HostClient
from apiserver.machinery.errors import unauthorized
from apiserver.observability.logging import configure_logging
from apiserver.registry.build import build_registry
from apiserver.registry.local import LocalObjects
from apiserver.server.chain import ChainConfig
from apiserver.server.lifecycle import Lifecycle
from apiserver.simulator.core import CORE_RESOURCES
from apiserver.simulator.fleet import Fleet
from apiserver.simulator.garbage_collector import GarbageCollector
from apiserver.simulator.kubectl_ways import understand_kubectl
from apiserver.simulator.kubelet import Kubelet
from apiserver.simulator.namespace_controller import NamespaceController
from apiserver.simulator.node_controller import NodeController
from apiserver.simulator.population import await_ledger, populate
from apiserver.simulator.sample import narrate, submit_sample
from apiserver.simulator.welcome import farewell, welcome
from certs.runner import publish_nothing
from storage.open import open_store

CLUSTER = "inference-apiserver-dev"
LEDGER_SECONDS = 10.0
"""How long the sample waits for the controllers to know the fleet."""


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


class NoOtherTokens:
    """Whoever shows a token that is nobody's is not anonymous but wrong."""

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        """See `Authenticator`. Raises 401."""
        if bearer_token(credentials.headers):
            raise unauthorized()
        return None


def configure_output(config: DevConfig) -> None:
    """A person is watching: what is told is told in words, and logs are for trouble unless asked for."""
    configure_logging(config.verbosity)
    if not config.verbosity:
        logging.getLogger().setLevel(logging.WARNING)


def complain(text: str) -> None:
    """Say why it does not start, in one line."""
    print(f"inference-apiserver dev: {text}", file=sys.stderr, flush=True)


async def develop(config: DevConfig, lifecycle: Lifecycle) -> None:
    """Run until told to stop. Raises OSError, RuntimeError, StorageError and
    CertificateError when it cannot start."""
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
                (StaticTokenAuthenticator(token), NoOtherTokens()), anonymous=AnonymousAuthenticator()
            ),
            authorizer=local_authorizer(),
            lifecycle=lifecycle,
            is_complete=lambda: cache.ready,
        )
        serving = ServingConfig(
            bind_address=config.bind_address, secure_port=config.secure_port, cert_dir=data / "certs"
        )
        tls, rotator = await run.certificates(serving, None, publish_nothing)
        listener = run.listen(serving)
        server = run.Server(registry, cache, storage, chain, serving, tls, rotator, listener)
        kubeconfig = (config.kubeconfig_out or data / "kubeconfig").absolute()
        write_kubeconfig(kubeconfig, server.address, rotator.material.ca_bundle_pem, token)
        host = await HostClient.from_kubeconfig(str(kubeconfig))
        stack.push_async_callback(host.close)
        controllers = run.controllers(ControllersConfig(leader_elect=False), registry, host, "ai-system")
        simulated = (
            Kubelet(objects),
            NodeController(objects),
            GarbageCollector(objects, {"InferenceJob": "inferencejobs", "Pod": "pods"}),
            NamespaceController(objects, [item.plural for item in resources if item.namespaced]),
        )
        await server.run(
            [_after(cache.wait_ready, part.run) for part in simulated],
            controllers,
            _cluster(config, server, objects, controllers, kubeconfig),
            partial(understand_kubectl, objects=objects),
        )
        _say(farewell(config.data_dir))


async def _cluster(
    config: DevConfig, server: run.Server, objects: LocalObjects, controllers: Controllers, kubeconfig: Path
) -> None:
    """What comes once the server listens: nodes, controllers, and the sample with its story."""
    fleet = Fleet(config.nodes, config.gpus_per_node)
    await populate(objects, fleet)
    _say(welcome(server.address, kubeconfig, config.data_dir, fleet))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(controllers.run())
        await await_ledger(objects, fleet, LEDGER_SECONDS)
        jobs, revision = await objects.list("inferencejobs")
        if config.sample:
            _say(await submit_sample(objects))
        tasks.create_task(narrate(objects, _say, jobs, revision))


async def _after(
    condition: Callable[[], Coroutine[Any, Any, None]], job: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    await condition()
    await job()


def write_kubeconfig(path: Path, server: str, ca: bytes, token: str) -> None:
    """Write a kubeconfig for the local administrator, readable by its owner alone. Raises OSError."""
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
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        yaml.safe_dump(document, file, sort_keys=False)
    fresh.replace(path)


def _say(text: str) -> None:
    if text:
        print(text, flush=True)
