"""Where the host cluster is and who we are there: kubeconfig or service account, kept fresh.

Tokens and certificates change under a running process (projected tokens live an hour, exec plugins hand out
short certificates), so the source is read again from time to time and whenever the host says 401. Knows
nothing of requests.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from apiserver.host.errors import HostUnreachable

_load_kube_config: Any = load_kube_config  # has no annotations

MAX_CONNECTIONS = 128
"""Connections to the host at once: each watch keeps one."""


class ConfigSource:
    """Reads the configuration of the client. `path` None means: the service account of this pod, or else
    the kubeconfig of `KUBECONFIG` or `~/.kube/config`, as client-go's defaults have it."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._loader: Any = None

    async def load(self, *, anew: bool = False) -> Configuration:
        """Read the configuration. `anew` forgets tokens that are still valid by the clock.
        Raises HostUnreachable."""
        # The constructor of the class is replaced by a factory of a shared default: ask for a fresh one.
        configuration: Configuration = type.__call__(Configuration)
        configuration.retries = None
        configuration.client_go_retries = False
        configuration.connection_pool_maxsize = MAX_CONNECTIONS
        try:
            await self._fill(configuration, anew=anew)
        except (ConfigException, OSError, ValueError) as error:
            raise HostUnreachable(f"no usable configuration of the host cluster: {error}") from error
        # Left to the HTTP library, the environment (and ~/.netrc, which is no source of ours) is read anew
        # in a thread for every request.
        configuration.client_session_kwargs = {"trust_env": False}
        if not configuration.proxy:
            configuration.proxy = proxy_of_environment(str(configuration.host))
        return configuration

    async def _fill(self, configuration: Configuration, *, anew: bool) -> None:
        if self._path is None and in_cluster():
            await asyncio.to_thread(load_incluster_config, configuration, False)
        elif self._loader is None or anew:
            self._loader = await _load_kube_config(
                config_file=self._path, client_configuration=configuration, persist_config=False
            )
        else:
            await self._loader.load_and_set(configuration)


def in_cluster() -> bool:
    """Whether this process runs in a pod with a service account."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def proxy_of_environment(url: str) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a URL, as client-go honours them."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


def fingerprint(configuration: Configuration) -> str:
    """What the connections depend on; the token is not part of it. Reads files: call it in a thread."""
    digest = hashlib.sha256(f"{configuration.host} {configuration.verify_ssl} {configuration.proxy}".encode())
    for name in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file):
        digest.update(Path(name).read_bytes() if name else b"-")
    return digest.hexdigest()
