"""From declarations and a store to a registry: one cache for all resources, one generic store for each."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from apiserver.machinery.resource import Resource
from apiserver.registry.hooks import Admission
from apiserver.registry.keys import KeySpace
from apiserver.registry.measured import MeasuredStore
from apiserver.registry.store import Registry, ResourceStore
from apiserver.registry.view import View, view_factory
from storage.cache import Phase, WatchCache
from storage.errors import StorageError
from storage.interface import Store

HISTORY = 4096
"""Revisions before a start that watches may go on from, so that a restart does not
make everybody list anew."""

_log = structlog.get_logger(__name__)


def build_registry(
    resources: Sequence[Resource], storage: Store, prefix: str, admission: Admission
) -> tuple[Registry, WatchCache[View]]:
    """The registry, and its cache, whose `run` belongs into the caller's TaskGroup."""
    keys = KeySpace(prefix)
    storage = MeasuredStore(storage)
    buckets = {keys.collection(resource): resource for resource in resources}
    cache: WatchCache[View] = WatchCache(
        storage,
        keys.root,
        view_factory(keys, buckets),
        bucket=keys.bucket,
        history=HISTORY,
        on_reject=_report_rejected,
        on_phase=_report_phase,
    )
    stores = [
        ResourceStore(resource, keys=keys, storage=storage, cache=cache, admission=admission)
        for resource in resources
    ]
    return Registry(stores), cache


def _report_rejected(key: bytes, error: Exception) -> None:
    _log.error("a stored object cannot be read and is left out", key=key.decode(), error=repr(error))


def _report_phase(phase: Phase, error: StorageError | None) -> None:
    if error is not None:
        _log.warning("watching storage was interrupted", phase=phase.value, error=str(error))
