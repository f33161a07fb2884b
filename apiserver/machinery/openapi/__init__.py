"""OpenAPI documents from declarations of resources, structured like those of kube-apiserver for a CRD.

    build_v2(resources, Info("inference-apiserver", "v1.2.3"))
    build_v3(GroupVersion("ai.example.com", "v1"), resources)

Both give JSON objects that the caller encodes and hashes once. Pure functions.
"""

from apiserver.machinery.openapi.info import Info
from apiserver.machinery.openapi.v2 import build_v2
from apiserver.machinery.openapi.v3 import build_v3

__all__ = ["Info", "build_v2", "build_v3"]
