"""`kube-system/extension-apiserver-authentication`: whom kube-apiserver tells extension servers to trust.

Read into an immutable snapshot, kept up to date by `configmap_watch`. The last good value of each part
survives whatever happens to the object: a deleted or broken ConfigMap must not lock everybody out, as in
`k8s.io/apiserver/pkg/server/dynamiccertificates` and `…/headerrequest/requestheader_controller.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from apiserver.auth.x509 import InvalidCertificateError, check_bundle

NAMESPACE = "kube-system"
NAME = "extension-apiserver-authentication"


class ConfigError(Exception):
    """The ConfigMap holds something unreadable."""


@dataclass(frozen=True, slots=True)
class RequestHeaderConfig:
    """How to recognise the front proxy and read its headers. Empty `allowed_names` allow any common name."""

    ca: bytes = b""
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuthenticationConfig:
    """A snapshot. Authorities are PEM bundles; empty means that there is none."""

    client_ca: bytes = b""
    request_header: RequestHeaderConfig = RequestHeaderConfig()

    def authorities(self) -> tuple[bytes, ...]:
        """Every bundle that a client certificate may be signed by."""
        return tuple(bundle for bundle in (self.client_ca, self.request_header.ca) if bundle)


def parse(data: Mapping[str, str]) -> AuthenticationConfig:
    """Read the `data` of the ConfigMap. Raises ConfigError."""
    return AuthenticationConfig(
        client_ca=_bundle(data, "client-ca-file"),
        request_header=RequestHeaderConfig(
            ca=_bundle(data, "requestheader-client-ca-file"),
            allowed_names=_strings(data, "requestheader-allowed-names"),
            username_headers=_strings(data, "requestheader-username-headers"),
            group_headers=_strings(data, "requestheader-group-headers"),
            uid_headers=_strings(data, "requestheader-uid-headers"),
            extra_prefixes=_strings(data, "requestheader-extra-headers-prefix"),
        ),
    )


def _bundle(data: Mapping[str, str], key: str) -> bytes:
    pem = data.get(key, "").strip().encode()
    if pem:
        try:
            check_bundle(pem)
        except InvalidCertificateError as error:
            raise ConfigError(f"{key}: {error}") from error
    return pem


def _strings(data: Mapping[str, str], key: str) -> tuple[str, ...]:
    text = data.get(key, "")
    if not text:
        return ()
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{key}: {error}") from error
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{key}: not a list of strings")
    return tuple(value)


class LiveConfig:
    """The snapshot of the moment. `synced` turns true once the ConfigMap's state is known, and stays so."""

    def __init__(self, initial: AuthenticationConfig | None = None) -> None:
        """`initial` is what flags gave; the ConfigMap overrides it part by part."""
        self.current = initial or AuthenticationConfig()
        self.synced = False
        self.problem = "not read yet"
        self._listeners: list[Callable[[AuthenticationConfig], None]] = []

    def on_change(self, listener: Callable[[AuthenticationConfig], None]) -> None:
        """Call `listener` after each change; it must not block or raise."""
        self._listeners.append(listener)

    def client_ca(self) -> bytes:
        """The client authority of the moment."""
        return self.current.client_ca

    def request_header_ca(self) -> bytes:
        """The front proxy's authority of the moment."""
        return self.current.request_header.ca

    def request_header(self) -> RequestHeaderConfig:
        """The front proxy's configuration of the moment."""
        return self.current.request_header

    def observe(self, configmap: Mapping[str, Any] | None) -> None:
        """Take in the object as it is now, None if it does not exist.
        What is missing or broken keeps its value.
        """
        self.synced = True
        if configmap is None:
            self.problem = f"{NAMESPACE}/{NAME} does not exist"
            return
        try:
            fresh = parse(configmap.get("data") or {})
        except ConfigError as error:
            self.problem = str(error)
            return
        self.problem = ""
        self._replace(fresh)

    def _replace(self, fresh: AuthenticationConfig) -> None:
        header = fresh.request_header
        merged = replace(
            fresh,
            client_ca=fresh.client_ca or self.current.client_ca,
            # The proxy's authority and its header names belong together: both new, or both old.
            request_header=header if header.ca else self.current.request_header,
        )
        if merged != self.current:
            self.current = merged
            for listener in self._listeners:
                listener(merged)
