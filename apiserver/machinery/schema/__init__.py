"""Structural schemas: what a CustomResourceDefinition's openAPIV3Schema is to kube-apiserver, compiled.

Prune, default and validate behave as k8s.io/apiextensions-apiserver does, down to the texts.
"""

from apiserver.machinery.schema.node import Node
from apiserver.machinery.schema.schema import Schema

__all__ = ["Node", "Schema"]
