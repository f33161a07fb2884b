"""The flags of `install`, `uninstall` and `manifests`, turned into the options of `deploy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from apiserver.flags import Flag, FlagGroup, OptionsError, Parser, Values
from deploy import options as deploy

Made = TypeVar("Made")

_CLUSTER: FlagGroup = (
    "Cluster",
    (
        Flag("kubeconfig", "the cluster (default: as kubectl finds it)"),
        Flag("timeout", "how long to wait until all is done", "3m0s"),
    ),
)
_PLACE: FlagGroup = (
    "Place",
    (
        Flag("namespace", "where the server runs", deploy.DEFAULT_NAMESPACE),
        Flag("service-name", "the Service of the server", deploy.NAME),
    ),
)
_WORKLOAD: FlagGroup = (
    "Server",
    (
        Flag("image", "the image to run (default: that of this version)"),
        Flag("replicas", "how many servers", "2", metavar="N"),
        Flag("extra-args", "more flags for serve", kind="list", metavar="FLAG"),
        Flag("ca-bundle", "a file with the authority to trust (default: the server publishes its own)"),
        Flag("group-priority-minimum", "the priority of the group among all", "1000", metavar="N"),
        Flag("version-priority", "the priority of the version in its group", "15", metavar="N"),
    ),
)
_ETCD: FlagGroup = (
    "etcd",
    (
        Flag("etcd-servers", "an etcd that is there already", kind="list", metavar="URL"),
        Flag("etcd-image", "the image of an etcd of our own", deploy.ETCD_IMAGE),
        Flag("etcd-replicas", "1, 3 or 5", "1", metavar="N"),
        Flag("etcd-storage", "the size of its volume", "10Gi"),
        Flag("etcd-storage-class", "the class of its volume"),
    ),
)
_EXTERNAL: FlagGroup = (
    "A server outside of the cluster: it is registered, and nothing is deployed",
    (
        Flag("external-name", "the host that kube-apiserver reaches it at"),
        Flag("port", "its port", "8443"),
        Flag("cert-dir", "where it keeps its certificates", metavar="DIR"),
    ),
)


def install_options(prog: str, arguments: Sequence[str]) -> deploy.InstallOptions:
    """The options of an installation. Raises OptionsError."""
    groups = (_CLUSTER, _PLACE, _WORKLOAD, _ETCD, _EXTERNAL)
    values = Parser(prog, "Bring the server into a cluster.", groups).read(arguments)
    kubeconfig, timeout = values.file("kubeconfig"), values.seconds("timeout")
    external = _external(values)
    manifests = _manifests(values)
    values.check()
    return deploy.InstallOptions(
        kubeconfig=str(kubeconfig) if kubeconfig else None,
        manifests=_made(manifests),
        external=_made(external) if external else None,
        timeout_seconds=timeout,
    )


def uninstall_options(prog: str, arguments: Sequence[str]) -> deploy.UninstallOptions:
    """The options of a removal. Raises OptionsError."""
    purge = Flag("purge", "remove the namespace and what is stored as well", "false", kind="switch")
    groups = (_CLUSTER, _PLACE, ("Data", (purge,)))
    values = Parser(prog, "Take the server out of a cluster.", groups).read(arguments)
    kubeconfig = values.file("kubeconfig")
    options = deploy.UninstallOptions(
        kubeconfig=str(kubeconfig) if kubeconfig else None,
        namespace=values.text("namespace"),
        service=values.text("service-name"),
        purge=values.switch("purge"),
        timeout_seconds=values.seconds("timeout"),
    )
    values.check()
    return options


def manifest_options(prog: str, arguments: Sequence[str]) -> deploy.ManifestOptions:
    """The options of the manifests. Raises OptionsError."""
    values = Parser(prog, "Print what install would apply.", (_PLACE, _WORKLOAD, _ETCD)).read(arguments)
    manifests = _manifests(values)
    values.check()
    return _made(manifests)


def _manifests(values: Values) -> Callable[[], deploy.ManifestOptions]:
    bundle = values.file("ca-bundle")
    replicas = values.integer("replicas", 1)
    group_priority = values.integer("group-priority-minimum")
    version_priority = values.integer("version-priority")
    etcd_replicas = values.integer("etcd-replicas", 1)
    servers = values.urls("etcd-servers")
    return lambda: deploy.ManifestOptions(
        image=values.text("image") or deploy.default_image(),
        namespace=values.text("namespace"),
        service=values.text("service-name"),
        replicas=replicas,
        ca_bundle=bundle.read_bytes() if bundle else b"",
        group_priority_minimum=group_priority,
        version_priority=version_priority,
        extra_args=values.words("extra-args"),
        etcd=deploy.EtcdOptions(
            servers=servers,
            image=values.text("etcd-image"),
            replicas=etcd_replicas,
            storage=values.text("etcd-storage"),
            storage_class=values.text("etcd-storage-class"),
        ),
    )


def _external(values: Values) -> Callable[[], deploy.External] | None:
    if not values.given("external-name"):
        if values.given("cert-dir"):
            values.wrong("cert-dir", "goes with --external-name alone")
        return None
    if not values.given("cert-dir"):
        values.wrong("cert-dir", "must be given with --external-name")
    host, port, directory = values.text("external-name"), values.port("port"), values.text("cert-dir")
    return lambda: deploy.External(host=host, port=port, cert_dir=Path(directory))


def _made(make: Callable[[], Made]) -> Made:
    """Make options whose rules are their own. Raises OptionsError for a combination that cannot be meant."""
    try:
        return make()
    except deploy.OptionsError as error:
        raise OptionsError([str(error)]) from error
