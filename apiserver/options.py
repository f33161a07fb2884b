"""What can be chosen about the server: flags on one side, a completed configuration on the other.

`serve_config` and `dev_config` either give a configuration that is consistent in itself or raise OptionsError
with all that is wrong. Nothing is opened, started or asked here; `run.py` takes it from there. Flags are
named as those of Kubernetes' own servers wherever these have one for the thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from apiserver.config import (
    ALWAYS_ALLOW_PATHS,
    ANY_ADDRESS,
    DEFAULT_DEV_PORT,
    DEFAULT_ETCD_PREFIX,
    DEFAULT_MAX_TXN_OPS,
    DEFAULT_NAMESPACE,
    DEFAULT_PORT,
    DEFAULT_SERVICE,
    LOOPBACK,
    AuthConfig,
    ControllersConfig,
    DevConfig,
    EtcdConfig,
    RequestHeaderOverrides,
    ServeConfig,
    ServingConfig,
    SQLiteConfig,
)
from apiserver.flags import Flag, FlagGroup, Parser, Values

# A lease must be renewed with time to spare; the factor is client-go's `leaderelection.JitterFactor`.
_RETRY_JITTER = 1.2


_LOGGING: FlagGroup = ("Logs", (Flag("v", "how much to log: 0 to 10", "0", metavar="N", aliases=("-v",)),))

SERVE_FLAGS: Sequence[FlagGroup] = (
    (
        "Serving",
        (
            Flag("bind-address", "the IP address to listen on", ANY_ADDRESS),
            Flag("secure-port", "the port to serve HTTPS on", str(DEFAULT_PORT)),
            Flag("tls-cert-file", "the serving certificate (PEM), with what signed it"),
            Flag("tls-private-key-file", "the key of --tls-cert-file"),
            Flag("cert-dir", "where certificates are made and kept if no files are given", metavar="DIR"),
            Flag(
                "cert-secret",
                "the Secret that keeps them for all replicas",
                metavar="NS/NAME",
            ),
            Flag("service-name", "the Service of the APIService", DEFAULT_SERVICE),
            Flag("service-namespace", "the namespace of that Service", DEFAULT_NAMESPACE),
            Flag("external-name", "another host name to have in the certificate"),
            Flag("request-timeout", "how long a request other than a watch may take", "1m0s"),
            Flag("max-requests-inflight", "reading requests at a time; 0: no limit", "400"),
            Flag("max-mutating-requests-inflight", "changing requests at a time; 0: no limit", "200"),
            Flag("shutdown-delay-duration", "how long to serve on after SIGTERM, not ready", "0s"),
        ),
    ),
    (
        "Storage",
        (
            Flag("storage", "etcd, or sqlite:///absolute/path", "etcd"),
            Flag("etcd-servers", "URLs of etcd", kind="list", metavar="URL"),
            Flag("etcd-prefix", "what all keys in etcd begin with", DEFAULT_ETCD_PREFIX),
            Flag("etcd-cafile", "the authority that signed etcd's certificate"),
            Flag("etcd-certfile", "our certificate for etcd"),
            Flag("etcd-keyfile", "the key of --etcd-certfile"),
            Flag(
                "etcd-max-txn-ops",
                "etcd's --max-txn-ops: a gang is on fewer nodes than that",
                str(DEFAULT_MAX_TXN_OPS),
                metavar="N",
            ),
        ),
    ),
    (
        "Cluster, authentication and authorization",
        (
            Flag("kubeconfig", "the cluster to extend; in a pod its service account"),
            Flag("authentication-kubeconfig", "the cluster to ask who somebody is"),
            Flag("authorization-kubeconfig", "the cluster to ask what somebody may do"),
            Flag(
                "authentication-skip-lookup",
                "do not read kube-system/extension-apiserver-authentication",
                "false",
                kind="switch",
            ),
            Flag(
                "authentication-tolerate-lookup-failure",
                "start although that cannot be read: nobody is known then by certificate",
                "false",
                kind="switch",
            ),
            Flag("client-ca-file", "the authority of client certificates"),
            Flag("requestheader-client-ca-file", "the authority of the front proxy's certificate"),
            Flag("requestheader-allowed-names", "common names of the front proxy; none: any", kind="list"),
            Flag("requestheader-username-headers", "headers with the user", "x-remote-user", kind="list"),
            Flag("requestheader-group-headers", "headers with groups", "x-remote-group", kind="list"),
            Flag("requestheader-uid-headers", "headers with the UID", "x-remote-uid", kind="list"),
            Flag(
                "requestheader-extra-headers-prefix",
                "what the headers with extra values begin with",
                "x-remote-extra-",
                kind="list",
            ),
            Flag(
                "anonymous-auth",
                "let in whoever shows no credentials as system:anonymous",
                "true",
                kind="switch",
            ),
            Flag(
                "authorization-always-allow-paths",
                "paths open to all",
                ",".join(ALWAYS_ALLOW_PATHS),
                kind="list",
            ),
        ),
    ),
    (
        "Controllers",
        (
            Flag("controllers", "which run: *, NAME, -NAME", "*", kind="list", metavar="NAME"),
            Flag("leader-elect", "one replica runs them", "true", kind="switch"),
            Flag("leader-elect-lease-duration", "how long others wait for a silent leader", "15s"),
            Flag("leader-elect-renew-deadline", "how long a leader tries to renew before it stops", "10s"),
            Flag("leader-elect-retry-period", "time between tries", "2s"),
        ),
    ),
    _LOGGING,
)

DEV_FLAGS: Sequence[FlagGroup] = (
    (
        "Server",
        (
            Flag(
                "data-dir",
                "where all is kept; without it all goes when you go",
                metavar="DIR",
            ),
            Flag("bind-address", "the IP address to listen on", LOOPBACK),
            Flag("secure-port", "the port to serve HTTPS on; 0: any free one", str(DEFAULT_DEV_PORT)),
            Flag("kubeconfig-out", "where to write the kubeconfig (default: in the data directory)"),
        ),
    ),
    (
        "Simulation",
        (
            Flag("nodes", "how many GPU nodes to simulate", "8"),
            Flag("gpus-per-node", "how many GPUs each has", "8"),
            Flag("no-sample", "create no sample jobs", "false", kind="switch"),
        ),
    ),
    _LOGGING,
)


def serve_config(prog: str, arguments: Sequence[str]) -> ServeConfig:
    """The configuration that the flags of `serve` make. Raises OptionsError."""
    values = Parser(prog, "Serve the API beside a cluster.", SERVE_FLAGS).read(arguments)
    config = ServeConfig(
        storage=_storage(values),
        serving=_serving(values),
        auth=_auth(values),
        controllers=_controllers(values),
        kubeconfig=values.file("kubeconfig"),
        verbosity=values.integer("v", 0, 10),
    )
    values.check()
    return config


def dev_config(prog: str, arguments: Sequence[str]) -> DevConfig:
    """The configuration that the flags of `dev` make. Raises OptionsError."""
    values = Parser(prog, "Serve everything on this machine, without a cluster.", DEV_FLAGS).read(arguments)
    config = DevConfig(
        data_dir=values.path("data-dir"),
        bind_address=values.address("bind-address"),
        secure_port=values.port("secure-port"),
        nodes=values.integer("nodes", 0, 10_000),
        gpus_per_node=values.integer("gpus-per-node", 0, 1024),
        kubeconfig_out=values.path("kubeconfig-out"),
        sample=not values.switch("no-sample"),
        verbosity=values.integer("v", 0, 10),
    )
    values.check()
    return config


def _storage(values: Values) -> EtcdConfig | SQLiteConfig:
    text = values.text("storage")
    etcd_flags = ("etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile")
    if text != "etcd":
        for name in filter(values.given, etcd_flags):
            values.wrong(name, "goes with --storage=etcd alone")
        return SQLiteConfig(path=_sqlite_path(values, text))
    if not values.given("etcd-servers"):
        values.wrong("etcd-servers", "must be given with --storage=etcd")
    prefix = values.text("etcd-prefix")
    if not prefix.startswith("/") or prefix.endswith("/"):
        values.wrong("etcd-prefix", f'"{prefix}" must begin with a slash and not end with one')
    values.together("etcd-certfile", "etcd-keyfile")
    return EtcdConfig(
        servers=values.urls("etcd-servers"),
        prefix=prefix,
        ca_file=values.file("etcd-cafile"),
        cert_file=values.file("etcd-certfile"),
        key_file=values.file("etcd-keyfile"),
        max_txn_ops=values.integer("etcd-max-txn-ops", DEFAULT_MAX_TXN_OPS),
    )


def _sqlite_path(values: Values, text: str) -> Path:
    parts = urlsplit(text)
    if parts.scheme != "sqlite" or parts.netloc or len(parts.path) < 2:
        values.wrong("storage", f'"{text}" is neither etcd nor sqlite:///absolute/path')
    return Path(unquote(parts.path))


def _serving(values: Values) -> ServingConfig:
    values.together("tls-cert-file", "tls-private-key-file")
    sources = [name for name in ("tls-cert-file", "cert-dir", "cert-secret") if values.given(name)]
    if len(sources) > 1:
        values.wrong(sources[1], f"cannot be given together with --{sources[0]}")
    return ServingConfig(
        bind_address=values.address("bind-address"),
        secure_port=values.port("secure-port"),
        tls_cert_file=values.file("tls-cert-file"),
        tls_private_key_file=values.file("tls-private-key-file"),
        cert_dir=values.path("cert-dir"),
        cert_secret=_namespaced_name(values, "cert-secret"),
        service_name=values.text("service-name"),
        service_namespace=values.text("service-namespace"),
        external_name=values.text("external-name"),
        request_timeout=values.seconds("request-timeout"),
        max_requests_inflight=values.integer("max-requests-inflight"),
        max_mutating_requests_inflight=values.integer("max-mutating-requests-inflight"),
        shutdown_delay=values.seconds("shutdown-delay-duration", positive=False),
    )


def _namespaced_name(values: Values, name: str) -> tuple[str, str] | None:
    text = values.text(name)
    if not text:
        return None
    namespace, _, rest = text.partition("/")
    if not namespace or not rest or "/" in rest:
        values.wrong(name, f'"{text}" is not of the form namespace/name')
    return namespace, rest


def _auth(values: Values) -> AuthConfig:
    paths = values.words("authorization-always-allow-paths")
    for path in paths:
        if not path.startswith("/") or "*" in path[:-1]:
            values.wrong(
                "authorization-always-allow-paths",
                f'"{path}" must begin with a slash and may end with a *',
            )
    overrides = RequestHeaderOverrides(
        client_ca_file=values.file("requestheader-client-ca-file"),
        allowed_names=values.words("requestheader-allowed-names"),
        username_headers=values.words("requestheader-username-headers"),
        group_headers=values.words("requestheader-group-headers"),
        uid_headers=values.words("requestheader-uid-headers"),
        extra_headers_prefixes=values.words("requestheader-extra-headers-prefix"),
    )
    return AuthConfig(
        authentication_kubeconfig=values.file("authentication-kubeconfig"),
        authorization_kubeconfig=values.file("authorization-kubeconfig"),
        skip_lookup=values.switch("authentication-skip-lookup"),
        tolerate_lookup_failure=values.switch("authentication-tolerate-lookup-failure"),
        client_ca_file=values.file("client-ca-file"),
        request_header=overrides,
        anonymous=values.switch("anonymous-auth"),
        always_allow_paths=paths,
    )


def _controllers(values: Values) -> ControllersConfig:
    config = ControllersConfig(
        names=values.words("controllers"),
        leader_elect=values.switch("leader-elect"),
        lease_duration=values.seconds("leader-elect-lease-duration"),
        renew_deadline=values.seconds("leader-elect-renew-deadline"),
        retry_period=values.seconds("leader-elect-retry-period"),
    )
    if config.lease_duration <= config.renew_deadline:
        values.wrong("leader-elect-lease-duration", "must be longer than --leader-elect-renew-deadline")
    if config.renew_deadline <= config.retry_period * _RETRY_JITTER:
        values.wrong(
            "leader-elect-renew-deadline", f"must be over {_RETRY_JITTER} times --leader-elect-retry-period"
        )
    return config
