"""What a write brings along, and what the registry asks of admission.
Small Protocols: the parts live elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, Protocol

from apiserver.machinery.options import WriteOptions
from apiserver.machinery.resource import Resource

Object = dict[str, Any]
Operation = Literal["CREATE", "UPDATE", "DELETE"]


class User(Protocol):
    """Who is asking."""

    @property
    def name(self) -> str:
        """The user's name."""
        ...

    @property
    def uid(self) -> str:
        """The user's uid, or empty."""
        ...

    @property
    def groups(self) -> tuple[str, ...]:
        """The user's groups."""
        ...

    @property
    def extra(self) -> Mapping[str, tuple[str, ...]]:
        """Whatever else the authenticator knows."""
        ...


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class Caller:
    """On whose behalf a write happens. `warn` takes a sentence for the client."""

    user: User | None = None
    user_agent: str = ""
    warn: Callable[[str], None] = field(default=lambda _: None)
    now: Callable[[], datetime] = _now
    may_create: Callable[[], Any] | None = None
    """Awaited before an update or apply creates the object; raises 403 when the caller may not."""

    def timestamp(self) -> str:
        """Now, as `metav1.Time` in JSON: RFC 3339 in UTC with whole seconds."""
        return _whole_seconds(self.now().replace(microsecond=0))


@lru_cache(maxsize=16)
def _whole_seconds(moment: datetime) -> str:
    """Kept, because all writes of a second ask for the same."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Attributes:
    """What admission sees of a request. Objects are of `version`;
    `old` is None on create, `obj` on delete."""

    operation: Operation
    resource: Resource
    version: str
    namespace: str
    name: str
    subresource: str
    obj: Object | None
    old: Object | None
    options: WriteOptions
    user: User | None


class Admission(Protocol):
    """Should it be so."""

    async def admit(self, attributes: Attributes) -> None:
        """Change the object in place where policy says so. Raises APIError to refuse."""
        ...

    async def validate(self, attributes: Attributes) -> None:
        """Look at the object as it will be stored. Raises APIError to refuse."""
        ...


class AdmitAll:
    """Admission without opinions."""

    async def admit(self, attributes: Attributes) -> None:
        """Let it pass."""

    async def validate(self, attributes: Attributes) -> None:
        """Let it pass."""
