"""Authorization by the host cluster: SubjectAccessReview, with every attribute,
and answers kept for ten seconds.

Source: `k8s.io/apiserver/plugin/pkg/authorizer/webhook`. Where that answers 500 when no review can be had,
this answers 503 with Retry-After: the request may well be allowed a moment later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from apiserver.auth.authorizer import Attributes, Decision, Requirement, Verdict
from apiserver.auth.lookup import Answer, Lookup
from apiserver.auth.reviews import Reviewer, ReviewError
from apiserver.auth.user import UserInfo
from apiserver.machinery.errors import unavailable

PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
MAX_CACHED_SIZE = 10_000
"""Characters of a question that the sender controls; longer ones are answered but not kept."""


class AccessReviewAuthorizer:
    """Asks the host cluster."""

    def __init__(
        self,
        reviewer: Reviewer,
        *,
        allow_ttl: float = 10.0,
        deny_ttl: float = 10.0,
        capacity: int = 8192,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Times in seconds; `now` is a monotonic clock."""
        self._reviewer = reviewer
        self._allow_ttl = allow_ttl
        self._deny_ttl = deny_ttl
        self._lookup: Lookup[Any, Decision] = Lookup(capacity=capacity, now=now)

    async def authorize(self, attributes: Attributes) -> Decision:
        """See `Authorizer`. Raises an APIError (503) when the host cluster gives no review."""

        async def ask() -> Answer[Decision]:
            decision = decision_of(await self._reviewer.review(review_of(attributes)))
            ttl = self._allow_ttl if decision.allowed else self._deny_ttl
            return Answer(decision, ttl if _size(attributes) < MAX_CACHED_SIZE else 0)

        try:
            return await self._lookup.get(_key(attributes), ask)
        except ReviewError as error:
            raise unavailable("the host cluster cannot be asked for authorization") from error


def review_of(attributes: Attributes) -> dict[str, Any]:
    """The SubjectAccessReview to send."""
    user = attributes.user
    spec: dict[str, Any] = {"user": user.name, "uid": user.uid, "groups": list(user.groups)}
    spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    spec = {key: value for key, value in spec.items() if value}
    if attributes.is_resource_request:
        spec["resourceAttributes"] = _resource_attributes(attributes)
    else:
        spec["nonResourceAttributes"] = {"path": attributes.path, "verb": attributes.verb}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def decision_of(status: dict[str, Any]) -> Decision:
    """What a review's status says. An answer that both allows and denies, denies."""
    reason = str(status.get("reason") or "")
    if status.get("denied"):
        return Decision(Verdict.DENY, reason)
    return Decision(Verdict.ALLOW if status.get("allowed") is True else Verdict.NO_OPINION, reason)


def _resource_attributes(attributes: Attributes) -> dict[str, Any]:
    result: dict[str, Any] = {
        "namespace": attributes.namespace,
        "verb": attributes.verb,
        "group": attributes.group,
        "version": attributes.version,
        "resource": attributes.resource,
        "subresource": attributes.subresource,
        "name": attributes.name,
    }
    result = {key: value for key, value in result.items() if value}
    if attributes.field_requirements:
        result["fieldSelector"] = {"requirements": [_term(item) for item in attributes.field_requirements]}
    if attributes.label_requirements:
        result["labelSelector"] = {"requirements": [_term(item) for item in attributes.label_requirements]}
    return result


def _term(requirement: Requirement) -> dict[str, Any]:
    term: dict[str, Any] = {"key": requirement.key, "operator": requirement.operator}
    if requirement.values:
        term["values"] = list(requirement.values)
    return term


def _key(attributes: Attributes) -> Any:
    """Everything that the answer may depend on, hashable."""
    return _user_key(attributes.user), _without_user(attributes)


def _user_key(user: UserInfo) -> tuple[Any, ...]:
    return user.name, user.uid, user.groups, tuple(sorted(user.extra.items()))


def _without_user(attributes: Attributes) -> tuple[Any, ...]:
    fields = (name for name in Attributes.__dataclass_fields__ if name != "user")
    return tuple(getattr(attributes, name) for name in fields)


def _size(attributes: Attributes) -> int:
    parts = (value for value in _without_user(attributes) if isinstance(value, str))
    terms = (*attributes.label_requirements, *attributes.field_requirements)
    return sum(map(len, parts)) + sum(len(term.key) + sum(map(len, term.values)) for term in terms)
