"""The completed configuration: what `options` makes of flags and `run` makes a server of. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEFAULT_PORT = 8443
DEFAULT_DEV_PORT = 6443
DEFAULT_ETCD_PREFIX = "/inference-apiserver"
DEFAULT_MAX_TXN_OPS = 128
"""That of etcd itself."""
DEFAULT_SERVICE = "inference-apiserver"
DEFAULT_NAMESPACE = "ai-system"
ALWAYS_ALLOW_PATHS = ("/healthz", "/readyz", "/livez")

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - as every server of Kubernetes listens; peers are authenticated
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingConfig:
    """Where and how to listen. Times are in seconds; a limit of 0 is no limit; port 0 is any free one.

    The certificate comes from the files, else from the Secret (`namespace`, `name`), else from `cert_dir`;
    with none of them it lives in memory alone.
    """

    bind_address: str = ANY_ADDRESS
    secure_port: int = DEFAULT_PORT
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    cert_dir: Path | None = None
    cert_secret: tuple[str, str] | None = None
    service_name: str = DEFAULT_SERVICE
    service_namespace: str = DEFAULT_NAMESPACE
    external_name: str = ""
    request_timeout: float = 60.0
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    shutdown_delay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdConfig:
    """The etcd that holds the objects, below `prefix`."""

    servers: tuple[str, ...]
    prefix: str = DEFAULT_ETCD_PREFIX
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    max_txn_ops: int = DEFAULT_MAX_TXN_OPS


@dataclass(frozen=True, slots=True, kw_only=True)
class SQLiteConfig:
    """The SQLite file that holds the objects, for one process."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeaderOverrides:
    """How to recognise the front proxy; without a `client_ca_file` the cluster's ConfigMap says so."""

    client_ca_file: Path | None = None
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()
    extra_headers_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    """Who is asked who a user is and what they may do; the kubeconfigs default to that of the cluster."""

    authentication_kubeconfig: Path | None = None
    authorization_kubeconfig: Path | None = None
    skip_lookup: bool = False
    tolerate_lookup_failure: bool = False
    client_ca_file: Path | None = None
    request_header: RequestHeaderOverrides = RequestHeaderOverrides()
    anonymous: bool = True
    always_allow_paths: tuple[str, ...] = ALWAYS_ALLOW_PATHS


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllersConfig:
    """Which controllers run, and how the leader among replicas is found. Times are in seconds."""

    names: tuple[str, ...] = ("*",)
    leader_elect: bool = True
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def enabled(self, name: str) -> bool:
        """Whether a controller runs: named itself, or `*` is and `-name` is not."""
        return name in self.names or ("*" in self.names and f"-{name}" not in self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeConfig:
    """A server beside a cluster. `kubeconfig` None: the pod's service account, else as kubectl does."""

    storage: EtcdConfig | SQLiteConfig
    serving: ServingConfig = ServingConfig()
    auth: AuthConfig = AuthConfig()
    controllers: ControllersConfig = ControllersConfig()
    kubeconfig: Path | None = None
    verbosity: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DevConfig:
    """Everything on one machine, without a cluster. `data_dir` None: a new directory that goes when we go."""

    data_dir: Path | None = None
    bind_address: str = LOOPBACK
    secure_port: int = DEFAULT_DEV_PORT
    nodes: int = 8
    gpus_per_node: int = 8
    kubeconfig_out: Path | None = None
    sample: bool = True
    verbosity: int = 0
