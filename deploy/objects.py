"""Small builders that every manifest uses, and where a kind lives in the API."""

from __future__ import annotations

from typing import Any

from deploy.options import NAME

Object = dict[str, Any]

SERVER = "apiserver"
ETCD = "etcd"

_PLURALS = {
    "Namespace": "namespaces",
    "ServiceAccount": "serviceaccounts",
    "Secret": "secrets",
    "Service": "services",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
    "Event": "events",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "NetworkPolicy": "networkpolicies",
    "APIService": "apiservices",
}


def labels(component: str = "") -> dict[str, str]:
    """The labels of everything that belongs to us."""
    result = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": NAME}
    if component:
        result["app.kubernetes.io/component"] = component
    return result


def selector(component: str) -> dict[str, str]:
    """The labels that select the pods of a component."""
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": component}


def meta(
    name: str, namespace: str = "", *, component: str = "", extra: dict[str, str] | None = None
) -> Object:
    """The metadata of an object; `extra` are further labels."""
    where = {"namespace": namespace} if namespace else {}
    return {"name": name, **where, "labels": {**labels(component), **(extra or {})}}


def collection_path(api_version: str, kind: str, namespace: str = "") -> str:
    """The path of the objects of a kind."""
    prefix = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{prefix}{within}/{_PLURALS[kind]}"


def path_of(obj: Object) -> str:
    """The path of an object."""
    metadata = obj["metadata"]
    collection = collection_path(obj["apiVersion"], obj["kind"], metadata.get("namespace", ""))
    return f"{collection}/{metadata['name']}"


def describe(obj: Object) -> str:
    """An object in a message: kind, and name with namespace."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    return (
        f"{obj['kind']} {namespace}/{metadata['name']}" if namespace else f"{obj['kind']} {metadata['name']}"
    )
