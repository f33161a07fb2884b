"""What controllers see of the world: the host cluster, and our own objects. Both are implemented elsewhere
(`host`, `registry`); controllers know only these Protocols.

Failures: `APIError` for an answer, `OSError` (ConnectionError, TimeoutError) for none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from apiserver.machinery.errors import APIError

Object = dict[str, Any]
Query = Mapping[str, str]
Items = list[Object]


class Host(Protocol):
    """The cluster that we extend, by API path."""

    async def get(self, path: str, *, query: Query | None = None, timeout: float = ...) -> Object:
        """Read one object."""
        ...

    async def list(self, path: str, *, query: Query | None = None) -> Object:
        """Read a whole collection as a List object."""
        ...

    async def create(self, path: str, body: Object) -> Object:
        """POST an object."""
        ...

    async def update(self, path: str, body: Object) -> Object:
        """PUT an object."""
        ...

    async def patch(
        self, path: str, body: Any, *, content_type: str = ..., query: Query | None = None
    ) -> Object:
        """PATCH an object."""
        ...

    async def delete(self, path: str, body: Object | None = None) -> Object:
        """DELETE an object, with `metav1.DeleteOptions`."""
        ...

    def watch(self, path: str, *, query: Query | None = None, timeout: float = ...) -> AsyncIterator[Object]:
        """Watch events; a stream that is silent for longer than `timeout` seconds raises OSError."""
        ...


ChangeKind = Literal["create", "update", "update_status", "delete"]


@dataclass(frozen=True, slots=True)
class Change:
    """One write of a transaction. `obj` carries the resourceVersion that is
    compared (except for `create`)."""

    resource: str
    obj: Object
    kind: ChangeKind


class Objects(Protocol):
    """Our own resources, in process: storage version, plain dicts that must not be changed in place."""

    async def list(self, resource: str, *, namespace: str = "") -> tuple[Items, str]:
        """All objects, and the resourceVersion from which to watch."""
        ...

    def watch(self, resource: str, *, resource_version: str) -> AsyncIterator[Object]:
        """Watch events after a resourceVersion. Raises APIError 410 when it is too old."""
        ...

    async def get(self, resource: str, namespace: str, name: str) -> Object:
        """One object. Raises APIError 404."""
        ...

    async def create(self, resource: str, obj: Object) -> Object:
        """Make an object. Raises APIError 409 AlreadyExists."""
        ...

    async def update(self, resource: str, obj: Object) -> Object:
        """Change everything but the status. Raises APIError 409 Conflict."""
        ...

    async def update_status(self, resource: str, obj: Object) -> Object:
        """Change the status. Raises APIError 409 Conflict."""
        ...

    async def delete(self, resource: str, obj: Object) -> None:
        """Delete an object, with its uid and resourceVersion as preconditions where it has them."""
        ...

    async def transact(self, changes: Sequence[Change]) -> Items:
        """All of the changes or none, in one storage transaction that compares the resourceVersion of every
        object. Returns the objects in the order of the changes. Raises APIError 409 Conflict."""
        ...


class ListWatch(Protocol):
    """One collection, as an informer follows it."""

    @property
    def name(self) -> str:
        """What is followed, for logs and metrics."""
        ...

    async def list(self) -> tuple[Items, str]:
        """All objects and the resourceVersion of the list."""
        ...

    def watch(self, resource_version: str) -> AsyncIterator[Object]:
        """Events after a resourceVersion; ends cleanly at the server's deadline."""
        ...


def is_conflict(error: BaseException) -> bool:
    """Whether a write met another one: read again and decide anew."""
    return isinstance(error, APIError) and error.code == 409 and error.reason == "Conflict"


def is_not_found(error: BaseException) -> bool:
    """Whether the object is not there."""
    return isinstance(error, APIError) and error.code == 404


def is_already_exists(error: BaseException) -> bool:
    """Whether an object of this name is there already."""
    return isinstance(error, APIError) and error.code == 409 and error.reason == "AlreadyExists"


def is_forbidden(error: BaseException) -> bool:
    """Whether our permissions do not suffice."""
    return isinstance(error, APIError) and error.code == 403


def is_too_large(error: BaseException) -> bool:
    """Whether a write is more than storage takes at once."""
    return isinstance(error, APIError) and error.code == 413


def is_expired(error: BaseException) -> bool:
    """Whether a resourceVersion is too old to go on from."""
    return isinstance(error, APIError) and error.code == 410
