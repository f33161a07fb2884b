"""May you: the question, the possible answers, and the authorizers that need to ask nobody.

Order as in kube-apiserver's delegation: `system:masters`, paths open to all, then the host cluster. Whoever
nobody allows is refused. Source of the texts:
`k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from apiserver.auth.user import PRIVILEGED_GROUP, UserInfo
from apiserver.machinery.errors import APIError, forbidden, forbidden_path
from apiserver.machinery.gotext import quote
from apiserver.machinery.gvk import GroupResource

HEALTH_PATHS = ("/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a selector. `operator` as the authorization API has it: In, NotIn, Exists, DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attributes:
    """Who wants to do what. The resource fields count if `is_resource_request`, else `path` and `verb`."""

    user: UserInfo
    verb: str
    is_resource_request: bool = True
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    label_requirements: tuple[Requirement, ...] = ()
    field_requirements: tuple[Requirement, ...] = ()


class Verdict(Enum):
    """What an authorizer thinks."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict with its reason, which is shown to the user."""

    verdict: Verdict
    reason: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.verdict is Verdict.ALLOW


NO_OPINION = Decision(Verdict.NO_OPINION)


class Authorizer(Protocol):
    """One way to decide."""

    async def authorize(self, attributes: Attributes) -> Decision:
        """Raises an APIError when it cannot decide now."""
        ...


class PrivilegedGroupAuthorizer:
    """`system:masters` may do everything."""

    async def authorize(self, attributes: Attributes) -> Decision:
        """See `Authorizer`."""
        return Decision(Verdict.ALLOW) if PRIVILEGED_GROUP in attributes.user.groups else NO_OPINION


class PathAuthorizer:
    """Opens paths to everybody, whatever the verb; a trailing `*` opens all that begin so."""

    def __init__(self, paths: Sequence[str] = HEALTH_PATHS) -> None:
        self._exact = frozenset(path for path in paths if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in paths if path.endswith("*"))

    async def authorize(self, attributes: Attributes) -> Decision:
        """See `Authorizer`."""
        if attributes.is_resource_request:
            return NO_OPINION
        open_to_all = attributes.path in self._exact or attributes.path.startswith(self._prefixes)
        return Decision(Verdict.ALLOW) if open_to_all else NO_OPINION


class UnionAuthorizer:
    """The first authorizer with an opinion decides; without any the reasons are put together."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    async def authorize(self, attributes: Attributes) -> Decision:
        """See `Authorizer`."""
        reasons: list[str] = []
        for authorizer in self._authorizers:
            decision = await authorizer.authorize(attributes)
            if decision.verdict is not Verdict.NO_OPINION:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(Verdict.NO_OPINION, "\n".join(reasons))


def local_authorizer() -> Authorizer:
    """For `dev`: the local administrator, who is in `system:masters`, may do everything;
    others see health alone.
    """
    return UnionAuthorizer((PrivilegedGroupAuthorizer(), PathAuthorizer()))


async def require(authorizer: Authorizer, attributes: Attributes) -> None:
    """Raises the 403 unless the request is allowed."""
    decision = await authorizer.authorize(attributes)
    if not decision.allowed:
        raise refusal(attributes, decision.reason)


def refusal(attributes: Attributes, reason: str = "") -> APIError:
    """The 403 for a request."""
    text = _escape(_describe(attributes))
    why = f"{text}: {reason}" if reason else text
    if not attributes.is_resource_request or not attributes.resource:
        return forbidden_path(why)
    return forbidden(GroupResource(attributes.group, attributes.resource), attributes.name, why)


def _describe(attributes: Attributes) -> str:
    who = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource_request:
        return f"{who} path {quote(attributes.path)}"
    kind = (
        f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
    )
    what = f"{who} resource {quote(kind)} in API group {quote(attributes.group)}"
    if attributes.namespace:
        return f"{what} in the namespace {quote(attributes.namespace)}"
    return f"{what} at the cluster scope"


def _escape(text: str) -> str:
    """What a browser could take for markup is escaped; quotes are not."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
