"""The coordinates of API types: group, version, kind, resource.

Source of the terms and of their text forms: Kubernetes API conventions, "Types (Kinds)" and "Resources".
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class GroupVersion:
    """A group and a version; the core group has the empty name."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Read `group/version` or, for the core group, `version`."""
        group, _, version = api_version.rpartition("/")
        return cls(group, version)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The URL path under which the group version is served, without a trailing slash."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


@dataclass(frozen=True, slots=True, order=True)
class GroupResource:
    """A group and a plural resource name; its text form is `plural.group`."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


@dataclass(frozen=True, slots=True, order=True)
class GroupVersionKind:
    """A group, a version and a kind."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        """The group and the version alone."""
        return GroupVersion(self.group, self.version)
