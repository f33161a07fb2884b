"""Metadata of objects: its shape, its rules, names and timestamps."""

from apiserver.machinery.objectmeta.coerce import coerce
from apiserver.machinery.objectmeta.names import dns_label, dns_subdomain, generate_name
from apiserver.machinery.objectmeta.timestamps import canonical_time
from apiserver.machinery.objectmeta.validation import (
    finalizer_warnings,
    validate_annotations,
    validate_create,
    validate_labels,
    validate_manager,
    validate_update,
)

__all__ = [
    "canonical_time",
    "coerce",
    "dns_label",
    "dns_subdomain",
    "finalizer_warnings",
    "generate_name",
    "validate_annotations",
    "validate_create",
    "validate_labels",
    "validate_manager",
    "validate_update",
]
