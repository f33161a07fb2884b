"""Puts the server together and runs it. The only file that knows all parts: read it to know the whole system.

Whatever goes on by itself is a task of one group: when one fails all end, and the process says so by its
exit code. The order at the start: storage, whom to trust, certificates, what is served, then listening."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import uuid
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from apiserver.admission.chain import AdmissionChain
from apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from apiserver.apis.ai.resources import GROUP, RESOURCES
from apiserver.auth.configmap import LiveConfig
from apiserver.auth.delegated import delegated_authenticator, delegated_authorizer
from apiserver.config import (
    ControllersConfig,
    DevConfig,
    EtcdConfig,
    ServeConfig,
    ServingConfig,
    SQLiteConfig,
)
from apiserver.controllers.clock import SystemClock
from apiserver.controllers.informer import Informer
from apiserver.controllers.leaderelection import LeaseOptions
from apiserver.controllers.listwatch import HostListWatch
from apiserver.controllers.run import Controllers
from apiserver.host.apiservice import BundlePublisher
from apiserver.host.client import HostClient
from apiserver.host.errors import HostUnreachable
from apiserver.host.namespaces import HostNamespaces
from apiserver.host.secret import HostSecret
from apiserver.observability import logging
from apiserver.process import run
from apiserver.registry.build import build_registry
from apiserver.registry.local import LocalObjects
from apiserver.registry.store import Registry
from apiserver.registry.view import View
from apiserver.server.application import build_application
from apiserver.server.chain import ChainConfig
from apiserver.server.collector import settle
from apiserver.server.lifecycle import Lifecycle, Timings, bind
from apiserver.server.lifecycle import serve as serve_http
from apiserver.server.probes import readiness_checks
from apiserver.server.protocol import APIProtocol
from apiserver.server.tls import ServerTLS
from apiserver.trust import follow, given
from certs import CertDirectory, GivenFiles, Names, Rotator, SecretSource, Source
from certs.runner import Publish, utc_now
from storage.cache import WatchCache
from storage.compactor import Compactor
from storage.interface import Store
from storage.open import EtcdOptions, open_store

_log = structlog.get_logger(__name__)

Job = Coroutine[Any, Any, None]

FIELD_MANAGER = "inference-apiserver"
STANDALONE_PREFIX = "/registry"
API_SERVICES = tuple(
    sorted({f"{version.name}.{GROUP}" for resource in RESOURCES for version in resource.versions})
)


def serve(config: ServeConfig) -> int:
    """Run the server beside a cluster until it is told to stop; gives the exit code."""
    logging.configure_logging(config.verbosity)
    return run(partial(_serve, config), lambda text: _log.error("could not start", error=text))


def dev(config: DevConfig) -> int:
    """Run everything on one machine, without a cluster, until told to stop; gives the exit code."""
    from apiserver.development import complain, configure_output, develop

    configure_output(config)
    return run(partial(develop, config), complain)


@dataclass(frozen=True)
class Server:
    """What is served and how; `run` serves it. The parts are put in by `_serve` and by `develop`."""

    registry: Registry
    cache: WatchCache[View]
    storage: Store
    chain: ChainConfig
    serving: ServingConfig
    tls: ServerTLS
    rotator: Rotator
    socket: socket.socket

    async def run(
        self,
        background: Sequence[Job],
        controllers: Controllers,
        controlling: Job | None = None,
        front: Callable[[Any], Any] = lambda app: app,
    ) -> None:
        """Serve until told to stop. `background` goes on until all is served; the controllers stop first, so
        that another replica can take over. `controlling` runs them in a way of its own; `front` puts
        something in front of the application."""
        lifecycle = self.chain.lifecycle
        checks = readiness_checks(self.cache, self.rotator, lifecycle, controllers.checks())
        application = build_application(self.registry, checks, self.chain)
        timings = Timings(shutdown_delay=self.serving.shutdown_delay, drain=self.serving.request_timeout)
        async with asyncio.TaskGroup() as tasks:
            going_on = [
                tasks.create_task(job)
                for job in (
                    self.cache.run(),
                    Compactor(self.storage).run(),
                    self.rotator.run(),
                    *background,
                )
            ]
            tasks.create_task(self._control(controlling or controllers.run()))
            await serve_http(
                front(application),
                [self.socket],
                lifecycle,
                tls=self.tls.context,
                protocol=APIProtocol,
                timings=timings,
            )
            for task in going_on:
                task.cancel()

    async def _control(self, controlling: Job) -> None:
        """Controllers run from when there is something to control until the end begins, whichever comes
        first: storage that never answers must not hold up the end."""
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self._once_ready(controlling))
            await self.chain.lifecycle.stopping.wait()
            running.cancel()

    async def _once_ready(self, controlling: Job) -> None:
        try:
            await self.chain.lifecycle.serving.wait()
            await self.cache.wait_ready()
            settle()
            _log.info("serving", address=self.address)
            await controlling
        finally:
            controlling.close()

    @property
    def address(self) -> str:
        """The URL of the server on this machine."""
        return f"https://localhost:{self.socket.getsockname()[1]}"


async def _serve(config: ServeConfig, lifecycle: Lifecycle) -> None:
    async with AsyncExitStack() as stack:
        storage = await open_store(_store_at(config.storage))
        stack.push_async_callback(storage.close)
        host = await _client(stack, config.kubeconfig)
        authentication = await _client(stack, config.auth.authentication_kubeconfig, host)
        authorization = await _client(stack, config.auth.authorization_kubeconfig, host)
        live = LiveConfig(await asyncio.to_thread(given, config.auth))
        lookups = await follow(live, authentication, config.auth)
        namespaces = Informer(HostListWatch(host, "/api/v1/namespaces"), SystemClock())
        admission = AdmissionChain([NamespaceLifecycle(HostNamespaces(host, namespaces.store.get))])
        registry, cache = build_registry(RESOURCES, storage, _prefix(config.storage), admission)
        chain = ChainConfig(
            authenticator=delegated_authenticator(
                live, authentication, anonymous=config.auth.anonymous, unreachable=(HostUnreachable,)
            ),
            authorizer=delegated_authorizer(
                authorization, config.auth.always_allow_paths, unreachable=(HostUnreachable,)
            ),
            lifecycle=lifecycle,
            is_complete=lambda: cache.ready,
            front_proxy=live.request_header,
            request_timeout=config.serving.request_timeout,
            max_reading=config.serving.max_requests_inflight,
            max_mutating=config.serving.max_mutating_requests_inflight,
        )
        service = (config.serving.service_namespace, config.serving.service_name)
        publisher = BundlePublisher(host, API_SERVICES, service)
        tls, rotator = await certificates(config.serving, host, publisher.publish)
        tls.set_authorities(live.current.authorities())
        live.on_change(lambda trusted: tls.set_authorities(trusted.authorities()))
        listener = listen(config.serving)
        server = Server(registry, cache, storage, chain, config.serving, tls, rotator, listener)
        await server.run(
            [namespaces.run(), *lookups],
            controllers(config.controllers, registry, host, config.serving.service_namespace),
        )


def listen(serving: ServingConfig) -> socket.socket:
    """The socket to serve on. Raises RuntimeError when it cannot be had."""
    try:
        return bind(serving.bind_address, serving.secure_port)
    except OSError as error:
        where = f"port {serving.secure_port} of {serving.bind_address}"
        why = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise RuntimeError(f"cannot serve on {where}: {why}; --secure-port chooses another") from error


def controllers(
    config: ControllersConfig, registry: Registry, host: HostClient, namespace: str
) -> Controllers:
    """The reconcile loops over our objects and the host cluster's. Raises ValueError for an unknown name."""
    lease = LeaseOptions(
        namespace, FIELD_MANAGER, config.lease_duration, config.renew_deadline, config.retry_period
    )
    return Controllers(
        objects=LocalObjects(tuple(registry), FIELD_MANAGER),
        host=host,
        selection=config.names,
        leader_election=lease if config.leader_elect else None,
        identity=f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}",
    )


async def certificates(
    serving: ServingConfig, host: HostClient | None, publish: Publish
) -> tuple[ServerTLS, Rotator]:
    """The TLS context, and what keeps its certificate fresh. Raises CertificateError."""
    names = Names(serving.service_name, serving.service_namespace, (serving.external_name,))
    source = _source(serving, host, names)
    material = await source.load(utc_now())
    tls = ServerTLS(material.cert_pem, material.key_pem)

    async def apply(fresh: Any) -> None:
        tls.set_certificate(fresh.cert_pem, fresh.key_pem)

    return tls, Rotator(source, material, apply=apply, publish=publish)


def _source(serving: ServingConfig, host: HostClient | None, names: Names) -> Source:
    if serving.tls_cert_file and serving.tls_private_key_file:
        return GivenFiles(serving.tls_cert_file, serving.tls_private_key_file)
    if serving.cert_secret and host is not None:
        return SecretSource(HostSecret(host, *serving.cert_secret), names)
    return CertDirectory(serving.cert_dir or Path("inference-apiserver-certs")).bound(names)


async def _client(
    stack: AsyncExitStack, kubeconfig: Path | None, default: HostClient | None = None
) -> HostClient:
    if kubeconfig is None and default is not None:
        return default
    client = await HostClient.from_kubeconfig(str(kubeconfig) if kubeconfig else None)
    stack.push_async_callback(client.close)
    return client


def _store_at(config: EtcdConfig | SQLiteConfig) -> str | EtcdOptions:
    if isinstance(config, SQLiteConfig):
        return f"sqlite://{config.path}"
    return EtcdOptions(
        endpoints=config.servers,
        ca_file=str(config.ca_file or ""),
        cert_file=str(config.cert_file or ""),
        key_file=str(config.key_file or ""),
        probe_key=f"{config.prefix}/revision".encode(),
        max_txn_ops=config.max_txn_ops,
    )


def _prefix(config: EtcdConfig | SQLiteConfig) -> str:
    return config.prefix if isinstance(config, EtcdConfig) else STANDALONE_PREFIX
