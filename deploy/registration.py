"""The registration with the aggregator: one APIService for each group version, and the Service they name."""

from __future__ import annotations

import base64

from apiserver.apis.served import api_service_name, group_versions
from deploy.objects import SERVER, Object, meta, selector
from deploy.options import ManifestOptions

SERVICE_PORT = 443
SERVER_PORT = 8443


def api_services(options: ManifestOptions, port: int = SERVICE_PORT) -> list[Object]:
    """The APIServices. Versions further down the list have a lower priority, so that clients prefer "
    "the first."""
    result = []
    seen: dict[str, int] = {}
    for group_version in group_versions():
        below = seen.get(group_version.group, 0)
        seen[group_version.group] = below + 1
        spec: Object = {
            "group": group_version.group,
            "version": group_version.version,
            "groupPriorityMinimum": options.group_priority_minimum,
            "versionPriority": options.version_priority - below,
            "service": {"namespace": options.namespace, "name": options.service, "port": port},
        }
        if options.ca_bundle:
            spec["caBundle"] = base64.b64encode(options.ca_bundle).decode()
        result.append(
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": meta(api_service_name(group_version)),
                "spec": spec,
            }
        )
    return result


def service(options: ManifestOptions) -> Object:
    """The Service in front of the server's pods."""
    port = {"name": "https", "port": SERVICE_PORT, "protocol": "TCP", "targetPort": "https"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(options.service, options.namespace, component=SERVER),
        "spec": {"type": "ClusterIP", "selector": selector(SERVER), "ports": [port]},
    }


def external_service(options: ManifestOptions, host: str) -> Object:
    """A Service that is only another name for a host outside of the cluster."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(options.service, options.namespace, component=SERVER),
        "spec": {"type": "ExternalName", "externalName": host},
    }
