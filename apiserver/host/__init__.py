"""The client of the cluster that this server extends."""

from apiserver.host.client import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, HostClient
from apiserver.host.errors import HostUnreachable

__all__ = ["APPLY_PATCH", "JSON_PATCH", "MERGE_PATCH", "STRATEGIC_PATCH", "HostClient", "HostUnreachable"]
