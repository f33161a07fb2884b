"""An etcd of our own: a StatefulSet whose volumes outlive it, reachable by the server's pods alone.

etcd answers /livez and /readyz on its metrics port since 3.6 (and 3.5.11), without a client certificate.
"""

from __future__ import annotations

from deploy.objects import ETCD, SERVER, Object, meta, selector
from deploy.options import NAME, ManifestOptions
from deploy.security import POD_SECURITY, container_security, probe

ETCD_NAME = f"{NAME}-etcd"
CLIENT_PORT = 2379
PEER_PORT = 2380
METRICS_PORT = 2381
DATA_DIR = "/var/lib/etcd"
CLAIM = "data"
MAX_TXN_OPS = 4096
"""A gang is placed in one transaction over all its nodes; etcd's own limit is 128."""


def servers(options: ManifestOptions) -> list[str]:
    """The client URLs of etcd, ours or the ones given."""
    return list(options.etcd.servers) or [f"http://{ETCD_NAME}.{options.namespace}.svc:{CLIENT_PORT}"]


def limits(options: ManifestOptions) -> list[str]:
    """What the server is told of our etcd; one that exists has its own limits."""
    return [] if options.etcd.servers else [f"--etcd-max-txn-ops={MAX_TXN_OPS}"]


def claim_names(replicas: int) -> list[str]:
    """The names of the volume claims that the StatefulSet makes."""
    return [f"{CLAIM}-{ETCD_NAME}-{index}" for index in range(replicas)]


def etcd(options: ManifestOptions) -> list[Object]:
    """Everything about etcd; nothing when the cluster is to use one that exists."""
    if options.etcd.servers:
        return []
    return [_service(options), _headless(options), _policy(options), _budget(options), _stateful_set(options)]


def _service(options: ManifestOptions) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(ETCD_NAME, options.namespace, component=ETCD),
        "spec": {
            "type": "ClusterIP",
            "selector": selector(ETCD),
            "ports": [{"name": "client", "port": CLIENT_PORT, "protocol": "TCP", "targetPort": "client"}],
        },
    }


def _headless(options: ManifestOptions) -> Object:
    """The names by which members find each other, also before they are ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(f"{ETCD_NAME}-peers", options.namespace, component=ETCD),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector(ETCD),
            "ports": [{"name": "peer", "port": PEER_PORT, "protocol": "TCP", "targetPort": "peer"}],
        },
    }


def _policy(options: ManifestOptions) -> Object:
    """Who may connect: the server as a client, and the members among themselves. Probes come from "
    "the node."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": meta(ETCD_NAME, options.namespace, component=ETCD),
        "spec": {
            "podSelector": {"matchLabels": selector(ETCD)},
            "policyTypes": ["Ingress"],
            "ingress": [
                {
                    "from": [{"podSelector": {"matchLabels": selector(SERVER)}}],
                    "ports": [{"port": CLIENT_PORT, "protocol": "TCP"}],
                },
                {
                    "from": [{"podSelector": {"matchLabels": selector(ETCD)}}],
                    "ports": [{"port": PEER_PORT, "protocol": "TCP"}],
                },
            ],
        },
    }


def _budget(options: ManifestOptions) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta(ETCD_NAME, options.namespace, component=ETCD),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector(ETCD)}},
    }


def _stateful_set(options: ManifestOptions) -> Object:
    claim: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": options.etcd.storage}},
    }
    if options.etcd.storage_class:
        claim["storageClassName"] = options.etcd.storage_class
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": meta(ETCD_NAME, options.namespace, component=ETCD),
        "spec": {
            "serviceName": f"{ETCD_NAME}-peers",
            "replicas": options.etcd.replicas,
            # All members at once: a member is ready only when there is a quorum.
            "podManagementPolicy": "Parallel",
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "selector": {"matchLabels": selector(ETCD)},
            "template": {
                "metadata": {"labels": meta("", component=ETCD)["labels"]},
                "spec": {
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "securityContext": POD_SECURITY,
                    "terminationGracePeriodSeconds": 30,
                    "containers": [_container(options)],
                },
            },
            "volumeClaimTemplates": [{"metadata": {"name": CLAIM}, "spec": claim}],
        },
    }


def _container(options: ManifestOptions) -> Object:
    domain = f"{ETCD_NAME}-peers.{options.namespace}.svc"
    members = [f"{ETCD_NAME}-{index}" for index in range(options.etcd.replicas)]
    cluster = ",".join(f"{member}=http://{member}.{domain}:{PEER_PORT}" for member in members)
    return {
        "name": "etcd",
        "image": options.etcd.image,
        "command": [
            "etcd",
            "--name=$(POD_NAME)",
            f"--data-dir={DATA_DIR}/data",
            f"--listen-client-urls=http://0.0.0.0:{CLIENT_PORT}",
            f"--advertise-client-urls=http://$(POD_NAME).{domain}:{CLIENT_PORT}",
            f"--listen-peer-urls=http://0.0.0.0:{PEER_PORT}",
            f"--initial-advertise-peer-urls=http://$(POD_NAME).{domain}:{PEER_PORT}",
            f"--listen-metrics-urls=http://0.0.0.0:{METRICS_PORT}",
            f"--initial-cluster={cluster}",
            f"--initial-cluster-token={ETCD_NAME}",
            "--quota-backend-bytes=4294967296",
            f"--max-txn-ops={MAX_TXN_OPS}",
        ],
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": [
            {"name": "client", "containerPort": CLIENT_PORT, "protocol": "TCP"},
            {"name": "peer", "containerPort": PEER_PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
        "startupProbe": probe("/readyz", "metrics", "HTTP", failures=60),
        "readinessProbe": probe("/readyz", "metrics", "HTTP"),
        "livenessProbe": probe("/livez", "metrics", "HTTP", failures=6),
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": container_security(),
        "volumeMounts": [{"name": CLAIM, "mountPath": DATA_DIR}],
    }
