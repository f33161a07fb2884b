"""Who may do what: the server's own permissions, and what the built-in roles let users do with our resources.

Nothing here has a `*`. Names are given wherever RBAC can check them (`create` cannot be limited by name:
there is no name yet when it is checked).
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.apis.served import SERVED, api_service_name, by_group, group_versions
from apiserver.machinery.resource import READ_VERBS, Resource
from deploy.objects import Object, meta
from deploy.options import NAME

RBAC = "rbac.authorization.k8s.io"
CERT_SECRET = f"{NAME}-certs"
LEASE = NAME

_SCALE_VERBS = ("get", "patch", "update")


def rule(group: str, resources: Sequence[str], verbs: Sequence[str], names: Sequence[str] = ()) -> Object:
    """A rule about resources."""
    result: Object = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    if names:
        result["resourceNames"] = list(names)
    return result


def rbac(namespace: str, service_account: str) -> list[Object]:
    """All roles and bindings."""
    subjects = [{"kind": "ServiceAccount", "name": service_account, "namespace": namespace}]
    return [
        _cluster_role(NAME, _server_rules()),
        *aggregated_roles(),
        _binding("ClusterRoleBinding", NAME, "", ("ClusterRole", NAME), subjects),
        _binding(
            "ClusterRoleBinding",
            f"{NAME}:auth-delegator",
            "",
            ("ClusterRole", "system:auth-delegator"),
            subjects,
        ),
        _binding(
            "RoleBinding",
            f"{NAME}:auth-reader",
            "kube-system",
            ("Role", "extension-apiserver-authentication-reader"),
            subjects,
        ),
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": meta(NAME, namespace),
            "rules": _own_namespace_rules(),
        },
        _binding("RoleBinding", NAME, namespace, ("Role", NAME), subjects),
    ]


def aggregated_roles() -> list[Object]:
    """Roles that kube-controller-manager adds to `view` and `edit`, and with these to `admin`."""
    return [
        _cluster_role(f"{NAME}:view", _view_rules(), {f"{RBAC}/aggregate-to-view": "true"}),
        _cluster_role(f"{NAME}:edit", _edit_rules(), {f"{RBAC}/aggregate-to-edit": "true"}),
    ]


def _server_rules() -> list[Object]:
    """What the server and its controllers do with the cluster."""
    return [
        rule("", ["nodes"], ["list", "watch"]),
        rule("", ["namespaces"], ["get", "list", "watch"]),
        rule("", ["pods"], ["create", "delete", "get", "list", "watch"]),
        rule("", ["pods/binding"], ["create"]),
        rule("", ["persistentvolumeclaims"], ["create", "delete"]),
        rule("", ["events"], ["create", "patch"]),
        rule(
            "apiregistration.k8s.io",
            ["apiservices"],
            ["get", "patch"],
            [api_service_name(group_version) for group_version in group_versions()],
        ),
        # An owner reference that blocks the owner's deletion takes this permission on the owner.
        *(
            rule(group, [f"{resource.plural}/finalizers" for resource in resources], ["update"])
            for group, resources in _written_by_users().items()
        ),
    ]


def _own_namespace_rules() -> list[Object]:
    """The lease of the leader and the shared certificates."""
    return [
        rule("coordination.k8s.io", ["leases"], ["create"]),
        rule("coordination.k8s.io", ["leases"], ["get", "update"], [LEASE]),
        rule("", ["secrets"], ["get", "patch"], [CERT_SECRET]),
    ]


def _view_rules() -> list[Object]:
    """Reading, as the built-in role `view` has it for all namespaced things, and the map of the fleet."""
    rules = []
    for group, resources in by_group().items():
        names = [name for resource in resources for name in (resource.plural, *_subresources(resource))]
        rules.append(rule(group, sorted(names), READ_VERBS))
    return rules


def _edit_rules() -> list[Object]:
    """Writing what users own. The status is the controllers' alone."""
    rules = []
    for group, resources in _written_by_users().items():
        verbs = ["create", "delete", "deletecollection", "patch", "update"]
        rules.append(rule(group, [resource.plural for resource in resources], verbs))
        scaled = [f"{resource.plural}/scale" for resource in resources if resource.scale]
        if scaled:
            rules.append(rule(group, scaled, _SCALE_VERBS))
    return rules


def _subresources(resource: Resource) -> list[str]:
    present = (("scale", resource.scale), ("status", resource.status))
    return [f"{resource.plural}/{name}" for name, there in present if there]


def _written_by_users() -> dict[str, list[Resource]]:
    """The resources that users may write, by group."""
    return by_group(resource for resource in SERVED if "create" in resource.verbs)


def _cluster_role(name: str, rules: list[Object], labels: dict[str, str] | None = None) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": meta(name, extra=labels),
        "rules": rules,
    }


def _binding(
    kind: str, name: str, namespace: str, role: tuple[str, str], subjects: list[dict[str, str]]
) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": meta(name, namespace),
        "roleRef": {"apiGroup": RBAC, "kind": role[0], "name": role[1]},
        "subjects": subjects,
    }
