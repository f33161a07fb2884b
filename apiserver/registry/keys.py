"""Where objects are kept: `<prefix>/<group>/<plural>/<namespace>/<name>`, without a namespace for
cluster-scoped ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.machinery.resource import Resource

CORE = "core"


@dataclass(frozen=True, slots=True)
class KeySpace:
    """The keys below one prefix, such as `/inference-apiserver`."""

    prefix: str

    @property
    def root(self) -> bytes:
        """The prefix of all keys."""
        return f"{self.prefix.rstrip('/')}/".encode()

    def collection(self, resource: Resource, namespace: str = "") -> bytes:
        """The prefix of a resource's keys, in one namespace if one is given."""
        base = f"{self.prefix.rstrip('/')}/{resource.group or CORE}/{resource.plural}/"
        return f"{base}{namespace}/".encode() if namespace else base.encode()

    def object(self, resource: Resource, namespace: str, name: str) -> bytes:
        """The key of an object."""
        return self.collection(resource, namespace if resource.namespaced else "") + name.encode()

    def bucket(self, key: bytes) -> bytes:
        """The resource that a key belongs to, as the prefix of its keys."""
        start = len(self.root)
        end = key.find(b"/", key.find(b"/", start) + 1)
        return key[: end + 1] if end > 0 else key
