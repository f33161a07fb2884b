"""Take the server out of a cluster again. Data stays unless it is asked to go.

The APIServices go first: an APIService without a server behind it blocks the deletion of every namespace.
"""

from __future__ import annotations

from apiserver.host.client import HostClient
from deploy.cluster import Cluster, Report
from deploy.errors import DeployError
from deploy.etcd import claim_names
from deploy.install import is_labelled, is_ours
from deploy.manifests import objects
from deploy.objects import Object, describe, path_of
from deploy.options import EtcdOptions, ManifestOptions, UninstallOptions

MOST_REPLICAS = 5


async def uninstall(options: UninstallOptions, report: Report) -> int:
    """Remove it from the cluster of the kubeconfig. Returns the exit code; `report` gets lines for people."""
    try:
        client = await HostClient.from_kubeconfig(options.kubeconfig)
        try:
            await Uninstaller(Cluster(client, report), options).run()
        finally:
            await client.close()
    except (DeployError, OSError) as error:
        report(f"error: {error}")
        return 1
    return 0


class Uninstaller:
    """The steps of one removal, the reverse of an installation."""

    def __init__(self, cluster: Cluster, options: UninstallOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._manifests = ManifestOptions(
            namespace=options.namespace, service=options.service, etcd=EtcdOptions(replicas=1)
        )

    async def run(self) -> None:
        """All steps. What is gone already is passed over. Raises DeployError."""
        everything = list(reversed(objects(self._manifests)))
        namespaces = [obj for obj in everything if obj["kind"] == "Namespace"]
        registered = [obj for obj in everything if obj["kind"] == "APIService"]
        removed = False
        for obj in registered:
            removed |= await self._remove_registration(obj)
        for obj in everything:
            if obj not in namespaces and obj not in registered:
                removed |= await self._remove(obj)
        if self._options.purge:
            removed |= await self._purge(namespaces)
        elif removed:
            self._cluster.report(
                f"Namespace {self._options.namespace} and the volumes in it are kept; --purge removes them"
            )
        if not removed:
            self._cluster.report("nothing is installed")

    async def _remove_registration(self, obj: Object) -> bool:
        found = await self._cluster.find(path_of(obj))
        if found is None:
            return False
        if not is_ours(found, self._manifests):
            self._cluster.report(f"{describe(obj)}: belongs to somebody else, left as it is")
            return False
        return await self._cluster.delete(obj, self._options.timeout_seconds)

    async def _remove(self, obj: Object) -> bool:
        """Remove an object that carries our labels."""
        found = await self._cluster.find(path_of(obj))
        if found is None:
            return False
        if not is_labelled(found):
            self._cluster.report(f"{describe(obj)}: was not made by install, left as it is")
            return False
        return await self._cluster.delete(obj, self._options.timeout_seconds)

    async def _purge(self, namespaces: list[Object]) -> bool:
        """Remove etcd's data, and the namespace if install made it."""
        removed = False
        for name in claim_names(MOST_REPLICAS):
            claim = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": self._options.namespace},
            }
            if await self._cluster.find(path_of(claim)) is not None:
                removed |= await self._cluster.delete(claim, self._options.timeout_seconds)
        for obj in namespaces:
            removed |= await self._remove(obj)
        return removed
