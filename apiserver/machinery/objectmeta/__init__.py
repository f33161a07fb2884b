"""Metadata of objects: names, labels, owners, finalizers; what is valid and what may change."""

from apiserver.machinery.objectmeta.names import generate_name

__all__ = ["generate_name"]
