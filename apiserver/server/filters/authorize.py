"""May they. Nothing below this filter runs for who may not.

Source: `k8s.io/apiserver/pkg/endpoints/filters.WithAuthorization`.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from apiserver.auth.authorizer import Attributes, Authorizer, Requirement, require
from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.machinery import errors
from apiserver.machinery.selectors import parse_field_selector, parse_label_selector
from apiserver.server.filters import Filter

_LABEL_OPERATORS = {
    "=": "In",
    "==": "In",
    "in": "In",
    "!=": "NotIn",
    "notin": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
}


def authorize(authorizer: Authorizer) -> Filter:
    """Ask whether the user may do what the request does; 403 if not."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            await require(authorizer, attributes_of(scope[SCOPE_KEY]))
            await app(scope, receive, send)

        return handle

    return wrap


def attributes_of(request: Request) -> Attributes:
    """What the request does, as the authorizer wants it put."""
    info, user = request.info, request.user
    if user is None:
        raise errors.internal("no user found for request")
    if not info.is_resource_request:
        return Attributes(user, info.verb, is_resource_request=False, path=info.path)
    return Attributes(
        user,
        info.verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
        path=info.path,
        label_requirements=label_requirements(info.label_selector) if info.label_selector else (),
        field_requirements=field_requirements(info.field_selector) if info.field_selector else (),
    )


# Leaving a term out asks for more than is wanted, which is safe; so is a selector that cannot be read: the
# endpoint refuses it anyway.


def label_requirements(selector: str) -> tuple[Requirement, ...]:
    """A label selector's terms, as the authorization API puts them; it has none for `<` and `>`."""
    try:
        parsed = parse_label_selector(selector)
    except errors.APIError:
        return ()
    return tuple(
        Requirement(term.key, _LABEL_OPERATORS[term.operator], term.values)
        for term in parsed.requirements
        if term.operator in _LABEL_OPERATORS
    )


def field_requirements(selector: str) -> tuple[Requirement, ...]:
    """A field selector's terms, as the authorization API puts them."""
    try:
        parsed = parse_field_selector(selector)
    except errors.APIError:
        return ()
    return tuple(
        Requirement(term.field, "NotIn" if term.negated else "In", (term.value,)) for term in parsed.terms
    )
