"""Ask a real kube-apiserver what it publishes for CRDs, and keep the structure (without the sentences) for
the tests.

    python tests/machinery/openapi/record_crd_openapi.py https://127.0.0.1:6443 TOKEN

It installs the CRDs `widgets` and `fleets` of ai.example.com, which test_openapi.py declares in its own way.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import httpx

GROUP = "ai.example.com"
STRING = {"type": "string"}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer", "format": "int32", "default": 1, "minimum": 0},
        "port": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "maybe": {"type": "string", "nullable": True},
        "env": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": STRING}},
        },
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "when": {"type": "string", "format": "date-time"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "amounts": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
    },
}
SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": STRING,
        "kind": STRING,
        "metadata": {"type": "object"},
        "spec": SPEC,
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}


def definition(plural: str, kind: str, scope: str, subresources: dict[str, Any]) -> dict[str, Any]:
    """A CRD of the schema above."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": subresources,
        "schema": {"openAPIV3Schema": SCHEMA},
        "selectableFields": [{"jsonPath": ".spec.mode"}],
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": scope, "versions": [version]},
    }


def structure(value: Any) -> Any:
    """The document without its descriptions."""
    if isinstance(value, dict):
        return {
            key: structure(item)
            for key, item in value.items()
            if not (key == "description" and isinstance(item, str))
        }
    return [structure(item) for item in value] if isinstance(value, list) else value


def resolved(value: Any, parameters: dict[str, Any]) -> Any:
    """The document with shared parameters put where they are used."""
    if isinstance(value, dict):
        name = str(value.get("$ref", ""))
        if name.startswith("#/parameters/"):
            return parameters[name.removeprefix("#/parameters/")]
        return {key: resolved(item, parameters) for key, item in value.items()}
    return [resolved(item, parameters) for item in value] if isinstance(value, list) else value


def main(url: str, token: str) -> None:
    """Record both documents."""
    client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, verify=False)
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    patch = {"Content-Type": "application/apply-patch+yaml"}
    for crd in (
        definition("widgets", "Widget", "Namespaced", {"status": {}, "scale": scale}),
        definition("fleets", "Fleet", "Cluster", {"status": {}}),
    ):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
        query = "?fieldManager=record&force=true"
        client.patch(f"{path}{query}", content=json.dumps(crd), headers=patch).raise_for_status()
    time.sleep(8)
    third = client.get(f"/openapi/v3/apis/{GROUP}/v1").json()
    second = client.get("/openapi/v2").json()
    names = set(third["components"]["schemas"])
    kept = {
        "paths": resolved(
            {key: value for key, value in second["paths"].items() if GROUP in key}, second["parameters"]
        ),
        "definitions": {key: value for key, value in second["definitions"].items() if key in names},
    }
    for name, document in (("crd_v3.json", third), ("crd_v2.json", kept)):
        target = Path(__file__).with_name(name)
        target.write_text(json.dumps(structure(document), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
