"""What can be chosen about a deployment. Plain values: the command line fills them in, tests "
"construct them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

NAME = "inference-apiserver"
"""The name of the Service, the ServiceAccount and whatever else there is one of."""
DEFAULT_NAMESPACE = "ai-system"
ETCD_IMAGE = "registry.k8s.io/etcd:3.6.8-0"


def default_image() -> str:
    """The image of the version that is installed here."""
    return f"{NAME}:{metadata.version(NAME)}"


class OptionsError(ValueError):
    """A combination of options that cannot be meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdOptions:
    """The etcd that we bring along, or, with `servers`, one that is there already."""

    servers: tuple[str, ...] = ()
    image: str = ETCD_IMAGE
    replicas: int = 1
    storage: str = "10Gi"
    storage_class: str = ""

    def __post_init__(self) -> None:
        if self.replicas not in (1, 3, 5):
            raise OptionsError("etcd runs with 1, 3 or 5 replicas")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestOptions:
    """Everything that the manifests depend on. `ca_bundle` is PEM; without it the server publishes "
    "its own."""

    image: str = field(default_factory=default_image)
    namespace: str = DEFAULT_NAMESPACE
    service: str = NAME
    replicas: int = 2
    ca_bundle: bytes = b""
    group_priority_minimum: int = 1000
    version_priority: int = 15
    extra_args: tuple[str, ...] = ()
    etcd: EtcdOptions = field(default_factory=EtcdOptions)

    def __post_init__(self) -> None:
        if not 0 < self.group_priority_minimum <= 20000:
            raise OptionsError("the group priority lies between 1 and 20000")
        if not 1 < self.version_priority <= 1000:
            raise OptionsError("the version priority lies between 2 and 1000")
        if self.replicas < 1:
            raise OptionsError("there has to be at least one replica")


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """A server that runs outside of the cluster, at `host`:`port`, with its certificates in `cert_dir`."""

    host: str
    port: int
    cert_dir: Path

    def __post_init__(self) -> None:
        if not 0 < self.port < 65536:
            raise OptionsError(f"{self.port} is not a port")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """`kubeconfig` None: found as kubectl finds it. With `external` nothing is deployed, only registered."""

    kubeconfig: str | None = None
    manifests: ManifestOptions = field(default_factory=ManifestOptions)
    external: External | None = None
    timeout_seconds: float = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallOptions:
    """`purge` also removes what holds data: etcd's volumes and the namespace."""

    kubeconfig: str | None = None
    namespace: str = DEFAULT_NAMESPACE
    service: str = NAME
    purge: bool = False
    timeout_seconds: float = 120.0
