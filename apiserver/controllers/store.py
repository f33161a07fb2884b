"""The picture that an informer has of a collection: objects by key, and indexes over them. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping
from typing import Any

Object = dict[str, Any]
Indexer = Callable[[Object], Iterable[str]]


def key_of(obj: Object) -> str:
    """`namespace/name`, or the name alone for cluster-scoped objects."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def split_key(key: str) -> tuple[str, str]:
    """The namespace ("" for cluster-scoped objects) and the name of a key."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


class Store:
    """Objects by key. They are shared: nobody changes them in place."""

    def __init__(self, indexers: Mapping[str, Indexer] | None = None) -> None:
        self._objects: dict[str, Object] = {}
        self._indexers = dict(indexers or {})
        self._indexes: dict[str, dict[str, dict[str, None]]] = {name: {} for name in self._indexers}

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Object]:
        return iter(self._objects.values())

    def __contains__(self, key: str) -> bool:
        return key in self._objects

    def keys(self) -> KeysView[str]:
        """All keys."""
        return self._objects.keys()

    def get(self, key: str) -> Object | None:
        """One object, or None."""
        return self._objects.get(key)

    def by_index(self, name: str, value: str) -> list[Object]:
        """The objects to which the named indexer gives this value."""
        keys = self._indexes[name].get(value, {})
        return [self._objects[key] for key in keys]

    def put(self, obj: Object) -> Object | None:
        """Add or replace; returns what was there."""
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None:
            self._unindex(key, old)
        self._objects[key] = obj
        for name, indexer in self._indexers.items():
            for value in indexer(obj):
                self._indexes[name].setdefault(value, {})[key] = None
        return old

    def remove(self, key: str) -> Object | None:
        """Take out; returns what was there."""
        old = self._objects.pop(key, None)
        if old is not None:
            self._unindex(key, old)
        return old

    def _unindex(self, key: str, old: Object) -> None:
        for name, indexer in self._indexers.items():
            index = self._indexes[name]
            for value in indexer(old):
                keys = index.get(value)
                if keys is not None:
                    keys.pop(key, None)
                    if not keys:
                        del index[value]
