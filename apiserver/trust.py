"""Whose certificates and headers count: what the flags say, and what the cluster publishes for servers like
this one. It must not know who is served, or what they may do."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from apiserver.auth.configmap import NAME, NAMESPACE, AuthenticationConfig, LiveConfig, RequestHeaderConfig
from apiserver.auth.configmap_watch import ConfigMapWatcher, HostReader
from apiserver.config import AuthConfig
from apiserver.host.errors import HostUnreachable
from apiserver.machinery.errors import APIError


def given(auth: AuthConfig) -> AuthenticationConfig:
    """What the flags say about trust. Reads files; raises OSError."""
    header = auth.request_header
    proxy = RequestHeaderConfig(
        ca=header.client_ca_file.read_bytes() if header.client_ca_file else b"",
        allowed_names=header.allowed_names,
        username_headers=header.username_headers,
        group_headers=header.group_headers,
        uid_headers=header.uid_headers,
        extra_prefixes=header.extra_headers_prefixes,
    )
    client_ca = auth.client_ca_file.read_bytes() if auth.client_ca_file else b""
    return AuthenticationConfig(client_ca=client_ca, request_header=proxy)


async def follow(live: LiveConfig, cluster: HostReader, auth: AuthConfig) -> list[Coroutine[Any, Any, None]]:
    """Add to `live` what the cluster publishes; gives what keeps that up to date. Raises RuntimeError when
    the cluster does not say and the flags do not tolerate that."""
    if auth.skip_lookup:
        return []
    watcher = ConfigMapWatcher(cluster, live, unreachable=(HostUnreachable,))
    try:
        await watcher.read()
    except (APIError, HostUnreachable, TimeoutError) as error:
        if not auth.tolerate_lookup_failure:
            where = f"{NAMESPACE}/{NAME}"
            raise RuntimeError(f"the cluster does not say whom to trust ({where}): {error}") from error
    return [watcher.run()]
