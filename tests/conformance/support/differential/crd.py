"""Writes the CustomResourceDefinition that says what one of our declarations says, for another group."""

from __future__ import annotations

from typing import Any

from apiserver.machinery.resource import Resource, Version

JSON = dict[str, Any]


def custom_resource_definition(resource: Resource, group: str) -> JSON:
    """The definition, for `POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions`."""
    names = {
        "kind": resource.kind,
        "listKind": resource.list_kind,
        "plural": resource.plural,
        "singular": resource.singular_name,
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{group}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "conversion": {"strategy": "None"},
            "versions": [_version(resource, version) for version in resource.versions],
        },
    }


def _version(resource: Resource, version: Version) -> JSON:
    subresources: JSON = {"status": {}} if resource.status else {}
    if resource.scale is not None:
        subresources["scale"] = {
            "specReplicasPath": resource.scale.spec_replicas,
            "statusReplicasPath": resource.scale.status_replicas,
        }
        if resource.scale.label_selector:
            subresources["scale"]["labelSelectorPath"] = resource.scale.label_selector
    made: JSON = {
        "name": version.name,
        "served": version.served,
        "storage": version.name == resource.storage_version,
        "schema": {"openAPIV3Schema": _schema(version)},
        "subresources": subresources,
        "additionalPrinterColumns": [_column(column) for column in version.columns if column.json_path],
    }
    if made["storage"]:
        # The same fields on every version would be moved to the top, where one schema for all is demanded.
        made["selectableFields"] = [{"jsonPath": f".{path}"} for path in resource.selectable_fields]
    return made


def _schema(version: Version) -> JSON:
    """Ours, but for metadata: its description is forbidden there, kube-apiserver has its own."""
    schema = version.schema.openapi
    return {**schema, "properties": {**schema["properties"], "metadata": {"type": "object"}}}


def _column(column: Any) -> JSON:
    made = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    optional = {"format": column.format, "priority": column.priority, "description": column.description}
    return made | {key: value for key, value in optional.items() if value}
