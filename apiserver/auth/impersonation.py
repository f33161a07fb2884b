"""Impersonation: acting as another user, by headers, if one may.

kube-apiserver does this before it proxies; here it matters for direct requests. Source:
`k8s.io/apiserver/pkg/endpoints/filters/impersonation` (the unconstrained mode).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from apiserver.auth.authorizer import Attributes, Authorizer, refusal
from apiserver.auth.request import Headers, first_value, values_of
from apiserver.auth.requestheader import extra_from
from apiserver.auth.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, UserInfo
from apiserver.machinery.errors import APIError, bad_request
from apiserver.machinery.gotext import quote

USER = "Impersonate-User"
GROUP = "Impersonate-Group"
UID = "Impersonate-Uid"
EXTRA_PREFIX = "Impersonate-Extra-"
_GROUP = "authentication.k8s.io"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the headers ask for, as they are."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)


def wanted_from(headers: Headers) -> Wanted | None:
    """The user to act as; None without impersonation.
    Raises an APIError (400) if only parts of a user are given.
    """
    wanted = Wanted(
        name=first_value(headers, USER),
        uid=first_value(headers, UID),
        groups=tuple(values_of(headers, GROUP)),
        extra=extra_from(headers, EXTRA_PREFIX),
    )
    if wanted.name:
        return wanted
    if wanted.uid or wanted.groups or wanted.extra:
        raise bad_request(f"requested {_as_go(wanted)} without impersonating a user name")
    return None


async def impersonate(headers: Headers, requestor: UserInfo, authorizer: Authorizer) -> UserInfo:
    """The user that the request acts as: `requestor`, or whom it may impersonate.
    Raises an APIError (400, 403).
    """
    wanted = wanted_from(headers)
    if wanted is None:
        return requestor
    for question in questions(wanted, requestor):
        await _ask(authorizer, question)
    return resulting_user(wanted)


def questions(wanted: Wanted, requestor: UserInfo) -> Iterator[Attributes]:
    """Each thing that the requestor must be allowed to impersonate."""
    base = Attributes(user=requestor, verb="impersonate")
    detail = replace(base, group=_GROUP, version="v1")
    account = split_service_account(wanted.name)
    if account:
        yield replace(base, resource="serviceaccounts", namespace=account[0], name=account[1])
    else:
        yield replace(base, resource="users", name=wanted.name)
    for group in wanted.groups:
        yield replace(base, resource="groups", name=group)
    for key, values in wanted.extra.items():
        for value in values:
            yield replace(detail, resource="userextras", subresource=key, name=value)
    if wanted.uid:
        yield replace(detail, resource="uids", name=wanted.uid)


def resulting_user(wanted: Wanted) -> UserInfo:
    """The user with the groups that go without saying."""
    groups = wanted.groups
    account = split_service_account(wanted.name)
    if account and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    if wanted.name == ANONYMOUS:
        if ALL_UNAUTHENTICATED not in groups:
            groups = (*groups, ALL_UNAUTHENTICATED)
    elif ALL_AUTHENTICATED not in groups and ALL_UNAUTHENTICATED not in groups:
        groups = (*groups, ALL_AUTHENTICATED)
    return UserInfo(wanted.name, wanted.uid, groups, wanted.extra)


def strip(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers without those of impersonation."""
    names = {name.lower().encode() for name in (USER, GROUP, UID)}
    prefix = EXTRA_PREFIX.lower().encode()
    return [(key, value) for key, value in headers if key not in names and not key.startswith(prefix)]


def split_service_account(name: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name; None for other users."""
    parts = name.removeprefix(_SERVICE_ACCOUNT).split(":")
    if not name.startswith(_SERVICE_ACCOUNT) or len(parts) != 2:
        return None
    namespace, account = parts
    valid = _LABEL.fullmatch(namespace) and len(account) <= 253 and _SUBDOMAIN.fullmatch(account)
    return (namespace, account) if valid else None


async def _ask(authorizer: Authorizer, question: Attributes) -> None:
    try:
        decision = await authorizer.authorize(question)
    except APIError as error:
        # kube-apiserver refuses as well when it cannot ask.
        raise refusal(question) from error
    if not decision.allowed:
        raise refusal(question, decision.reason)


def _as_go(wanted: Wanted) -> str:
    """The user as Go's %#v prints it."""
    groups = _list(wanted.groups) if wanted.groups else "[]string(nil)"
    pairs = ", ".join(f"{quote(key)}:{_list(values)}" for key, values in sorted(wanted.extra.items()))
    extra = f"map[string][]string{{{pairs}}}" if wanted.extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{quote(wanted.uid)}, Groups:{groups}, Extra:{extra}}}'


def _list(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quote, values))}}}"
