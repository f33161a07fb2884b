"""Bring the server into a cluster, or register one that runs outside of it, and wait until it serves.

Everything is applied on the server, so it can be run again at any time: what is right already stays as it is.
The APIService comes last, and never takes the place of somebody else's.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from apiserver.apis.served import api_service_name, group_versions
from apiserver.host.client import HostClient
from apiserver.host.secret import HostSecret
from certs.directory import CertDirectory
from certs.errors import CertificateError
from certs.secret import SecretSource
from certs.serving import Names
from deploy import explain
from deploy.cluster import Cluster, Report
from deploy.errors import DeployError
from deploy.manifests import access, workload
from deploy.objects import Object, collection_path, labels, path_of, selector
from deploy.options import InstallOptions, ManifestOptions
from deploy.rbac import aggregated_roles
from deploy.registration import api_services, external_service, service
from deploy.workload import cert_secret, namespace

API_SERVICE = "apiregistration.k8s.io/v1"


async def install(options: InstallOptions, report: Report) -> int:
    """Install with the cluster of the kubeconfig. Returns the exit code; `report` gets lines for people."""
    try:
        client = await HostClient.from_kubeconfig(options.kubeconfig)
        try:
            await Installer(client, Cluster(client, report), options).run()
        finally:
            await client.close()
    except (DeployError, CertificateError, OSError) as error:
        report(f"error: {error}")
        return 1
    return 0


class Installer:
    """The steps of one installation, in order."""

    def __init__(self, client: HostClient, cluster: Cluster, options: InstallOptions) -> None:
        self._client = client
        self._cluster = cluster
        self._options = options
        self._manifests = options.manifests

    async def run(self) -> None:
        """All steps. Raises DeployError, CertificateError."""
        await self._refuse_others()
        if self._options.external is None:
            bundle = await self._deploy()
            registered = api_services(replace(self._manifests, ca_bundle=bundle))
        else:
            bundle = await self._prepare_external()
            registered = api_services(replace(self._manifests, ca_bundle=bundle), self._options.external.port)
        for obj in registered:
            await self._cluster.apply(obj)
        for obj in registered:
            await self._wait_available(obj)

    async def _refuse_others(self) -> None:
        """Raises DeployError when a group version is served by somebody else."""
        for group_version in group_versions():
            name = api_service_name(group_version)
            found = await self._cluster.find(f"{collection_path(API_SERVICE, 'APIService')}/{name}")
            if found is not None and not is_ours(found, self._manifests):
                raise DeployError(
                    f"APIService {name} belongs to {owner_of(found)}: it is left as it is. {_HOW}"
                )

    async def _deploy(self) -> bytes:
        """Everything but the registration; returns the bundle to trust, in PEM."""
        first, *rest = access(self._manifests)
        await self._apply_namespace(first)
        for obj in rest:
            await self._cluster.apply(obj)
        secret = cert_secret(self._manifests)
        await self._cluster.apply(secret)
        names = Names(self._manifests.service, self._manifests.namespace)
        store = HostSecret(self._client, self._manifests.namespace, secret["metadata"]["name"])
        material = await SecretSource(store, names).load(datetime.now(UTC))
        await self._apply_service(service(self._manifests))
        applied = workload(self._manifests)
        for obj in applied:
            await self._cluster.apply(obj)
        for obj in applied:
            if obj["kind"] in ("StatefulSet", "Deployment"):
                await self._wait_rollout(obj)
        return material.ca_bundle_pem

    async def _prepare_external(self) -> bytes:
        """The parts that a server outside of the cluster needs; returns the bundle to trust, in PEM."""
        external = self._options.external
        assert external is not None
        names = Names(self._manifests.service, self._manifests.namespace, (external.host,))
        directory = CertDirectory(external.cert_dir)
        material = await asyncio.to_thread(directory.ensure, names, datetime.now(UTC))
        await self._apply_namespace(namespace(self._manifests))
        for obj in aggregated_roles():
            await self._cluster.apply(obj)
        await self._apply_service(external_service(self._manifests, external.host))
        return material.ca_bundle_pem

    async def _apply_namespace(self, obj: Object) -> None:
        """A namespace that others made keeps its own rules: our labels would bind their pods too."""
        found = await self._cluster.find(path_of(obj))
        if found is not None and not is_labelled(found):
            self._cluster.report(f"Namespace {obj['metadata']['name']}: exists, left as it is")
            return
        await self._cluster.apply(obj)

    async def _apply_service(self, obj: Object) -> None:
        """The type of a Service does not change in place: one of the other type is replaced."""
        found = await self._cluster.find(path_of(obj))
        if found is not None and found["spec"].get("type") != obj["spec"]["type"]:
            await self._cluster.delete(obj, self._options.timeout_seconds)
        await self._cluster.apply(obj)

    async def _wait_rollout(self, obj: Object) -> None:
        name = f"{obj['kind']} {obj['metadata']['name']}"

        async def missing() -> str:
            found = await self._cluster.find(path_of(obj))
            behind = "it is gone" if found is None else rollout_missing(found)
            return f"{behind}{await self._pod_evidence(obj)}" if behind else ""

        await self._cluster.wait(name, missing, self._options.timeout_seconds)

    async def _wait_available(self, obj: Object) -> None:
        name = f"APIService {obj['metadata']['name']}"

        async def missing() -> str:
            found = await self._cluster.find(path_of(obj))
            if found is None:
                return "it is gone"
            finding = explain.explain(found)
            return str(finding) if finding else ""

        await self._cluster.wait(name, missing, self._options.timeout_seconds)
        self._cluster.report(f"{name}: available")

    async def _pod_evidence(self, obj: Object) -> str:
        """What the pods of a workload say, as the end of a sentence."""
        where = obj["metadata"]["namespace"]
        component = obj["metadata"]["labels"]["app.kubernetes.io/component"]
        wanted = ",".join(f"{key}={value}" for key, value in selector(component).items())
        pods = await self._cluster.items(collection_path("v1", "Pod", where), {"labelSelector": wanted})
        events = await self._cluster.items(
            collection_path("v1", "Event", where), {"fieldSelector": "type=Warning,involvedObject.kind=Pod"}
        )
        trouble = explain.pod_trouble(pods, events)
        return f" ({trouble})" if trouble else ""


_HOW = "Remove it first if it is no longer wanted, or install into its namespace under its Service's name."


def is_ours(api_service: Object, manifests: ManifestOptions) -> bool:
    """Whether an APIService points to the Service that we would install."""
    reference = api_service["spec"].get("service") or {}
    return bool(
        reference.get("name") == manifests.service and reference.get("namespace") == manifests.namespace
    )


def owner_of(api_service: Object) -> str:
    """Whose an APIService is, in words. Without a Service it is kube-apiserver's own, made for a CRD."""
    reference = api_service["spec"].get("service")
    if not reference:
        return "kube-apiserver itself (there is a CustomResourceDefinition of this group and version)"
    return f"the Service {reference.get('namespace')}/{reference.get('name')}"


def is_labelled(obj: Object) -> bool:
    """Whether an object carries our labels."""
    found = obj["metadata"].get("labels") or {}
    return all(found.get(key) == value for key, value in labels().items())


def rollout_missing(obj: Object) -> str:
    """What a Deployment or StatefulSet still lacks; empty when all replicas are new and ready."""
    wanted, status = obj["spec"].get("replicas", 1), obj.get("status") or {}
    if status.get("observedGeneration", 0) < obj["metadata"].get("generation", 0):
        return "its controller has not seen it yet"
    for key in ("updatedReplicas", "readyReplicas"):
        if status.get(key, 0) < wanted:
            return f"{status.get(key, 0)} of {wanted} {key.removesuffix('Replicas')} replicas"
    return ""
