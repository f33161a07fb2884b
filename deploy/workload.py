"""The server itself: its account, its certificates' Secret, its Deployment and how much of it may be down."""

from __future__ import annotations

from deploy import etcd
from deploy.objects import SERVER, Object, meta, selector
from deploy.options import NAME, ManifestOptions
from deploy.rbac import CERT_SECRET
from deploy.registration import SERVER_PORT
from deploy.security import POD_SECURITY, container_security, probe


def namespace(options: ManifestOptions) -> Object:
    """The namespace of everything. It admits only pods that follow the restricted standard."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": meta(options.namespace, extra={"pod-security.kubernetes.io/enforce": "restricted"}),
    }


def service_account(options: ManifestOptions) -> Object:
    """The identity of the server in the cluster."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": meta(NAME, options.namespace),
        "automountServiceAccountToken": False,
    }


def cert_secret(options: ManifestOptions) -> Object:
    """The Secret for the authority and the certificates, without content: that is made by whoever comes
    first, the installer or a replica, and is nobody else's to apply."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": meta(CERT_SECRET, options.namespace, component=SERVER),
        "type": "Opaque",
    }


def budget(options: ManifestOptions) -> Object:
    """One replica at a time may be drained, also when there is only one."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta(NAME, options.namespace, component=SERVER),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector(SERVER)}},
    }


def deployment(options: ManifestOptions) -> Object:
    """The replicas of the server. All of them serve; one of them leads the controllers."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(NAME, options.namespace, component=SERVER),
        "spec": {
            "replicas": options.replicas,
            "selector": {"matchLabels": selector(SERVER)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": meta("", component=SERVER)["labels"]},
                "spec": _pod(options),
            },
        },
    }


def _pod(options: ManifestOptions) -> Object:
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "securityContext": POD_SECURITY,
        "terminationGracePeriodSeconds": 60,
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector(SERVER)},
            }
        ],
        "containers": [_container(options)],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}],
    }


def _container(options: ManifestOptions) -> Object:
    return {
        "name": SERVER,
        "image": options.image,
        "args": serve_args(options),
        "ports": [{"name": "https", "containerPort": SERVER_PORT, "protocol": "TCP"}],
        "startupProbe": probe("/livez", "https", "HTTPS", failures=30, period_seconds=2),
        "readinessProbe": probe("/readyz", "https", "HTTPS"),
        "livenessProbe": probe("/livez", "https", "HTTPS", failures=6, period_seconds=10),
        "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": container_security(),
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - an emptyDir of the pod's own
    }


def serve_args(options: ManifestOptions) -> list[str]:
    """The command line of the server in the cluster."""
    return [
        "serve",
        "--storage=etcd",
        f"--etcd-servers={','.join(etcd.servers(options))}",
        *etcd.limits(options),
        f"--secure-port={SERVER_PORT}",
        f"--cert-secret={options.namespace}/{CERT_SECRET}",
        f"--service-name={options.service}",
        f"--service-namespace={options.namespace}",
        *options.extra_args,
    ]
