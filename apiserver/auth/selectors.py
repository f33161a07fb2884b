"""Selectors as the authorization API has them, so that a policy may allow listing only what a selector
leaves.

A selector that cannot be read counts as none, and so does a term that the API has no word for: either way
the question becomes wider, never narrower, than the request. Source:
`k8s.io/apiserver/pkg/endpoints/filters/authorization.go` and `…/plugin/pkg/authorizer/webhook`.
"""

from __future__ import annotations

from apiserver.auth.authorizer import Requirement
from apiserver.machinery.errors import APIError
from apiserver.machinery.selectors.fields import parse_field_selector
from apiserver.machinery.selectors.labels import parse_label_selector

_LABEL_OPERATORS = {
    "=": "In",
    "==": "In",
    "in": "In",
    "!=": "NotIn",
    "notin": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
}


def label_requirements(text: str) -> tuple[Requirement, ...]:
    """The terms of a label selector."""
    if not text:
        return ()
    try:
        terms = parse_label_selector(text).requirements
    except APIError:
        return ()  # the endpoint answers 400, once the wider question has been allowed
    return tuple(
        Requirement(term.key, _LABEL_OPERATORS[term.operator], term.values)
        for term in terms
        if term.operator in _LABEL_OPERATORS
    )


def field_requirements(text: str) -> tuple[Requirement, ...]:
    """The terms of a field selector."""
    if not text:
        return ()
    try:
        terms = parse_field_selector(text).terms
    except APIError:
        return ()
    return tuple(Requirement(term.field, "NotIn" if term.negated else "In", (term.value,)) for term in terms)
