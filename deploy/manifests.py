"""All objects of a deployment, in the order in which they are applied, and their YAML for GitOps.

The same options always give the same text.
"""

from __future__ import annotations

import yaml

from deploy.etcd import etcd
from deploy.objects import Object
from deploy.options import NAME, ManifestOptions
from deploy.rbac import rbac
from deploy.registration import api_services, service
from deploy.workload import budget, cert_secret, deployment, namespace, service_account


def access(options: ManifestOptions) -> list[Object]:
    """What has to be there before anything runs: namespace, identity and permissions."""
    return [namespace(options), service_account(options), *rbac(options.namespace, NAME)]


def workload(options: ManifestOptions) -> list[Object]:
    """What runs."""
    return [*etcd(options), budget(options), deployment(options)]


def objects(options: ManifestOptions) -> list[Object]:
    """Everything. The APIServices come last: the aggregator should find somebody at home."""
    return [
        *access(options),
        cert_secret(options),
        service(options),
        *workload(options),
        *api_services(options),
    ]


def manifests(options: ManifestOptions) -> str:
    """Everything as one YAML stream, for `kubectl apply --server-side -f -` or a repository."""
    return to_yaml(objects(options))


def to_yaml(documents: list[Object]) -> str:
    """A YAML stream with keys in the order in which they were built."""
    return "".join(f"---\n{_dump(document)}" for document in documents)


class _Dumper(yaml.SafeDumper):
    """Lists are indented under their key, and nothing is an alias: people read this."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True


def _dump(document: Object) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=1000)
