"""Acting as another user."""

from __future__ import annotations

import pytest

from apiserver.auth.authorizer import Decision, Verdict
from apiserver.auth.impersonation import impersonate, split_service_account, strip
from apiserver.auth.user import UserInfo
from apiserver.machinery.errors import APIError, unavailable

ADMIN = UserInfo("admin", groups=("system:authenticated",))


class Book:
    """Allows everything that is not forbidden, and notes what was asked."""

    def __init__(self, *forbidden: str) -> None:
        self.asked, self.forbidden, self.failure = [], forbidden, None

    async def authorize(self, attributes):
        if self.failure:
            raise self.failure
        assert (attributes.user, attributes.verb) == (ADMIN, "impersonate")
        self.asked.append(
            (
                attributes.group,
                attributes.resource,
                attributes.subresource,
                attributes.namespace,
                attributes.name,
            )
        )
        verdict = Verdict.NO_OPINION if attributes.resource in self.forbidden else Verdict.ALLOW
        return Decision(verdict, "" if verdict is Verdict.ALLOW else "not yours")


async def test_without_headers_one_stays_oneself():
    book = Book()
    assert await impersonate(((b"accept", b"x"),), ADMIN, book) is ADMIN
    assert book.asked == []


async def test_each_part_of_a_user_is_asked_for():
    headers = (
        (b"impersonate-user", b"jane"),
        (b"impersonate-group", b"devs"),
        (b"impersonate-group", b"ops"),
        (b"impersonate-uid", b"7"),
        (b"impersonate-extra-acme%2fscope", b"a"),
        (b"impersonate-extra-acme%2fscope", b"b"),
    )
    book = Book()
    user = await impersonate(headers, ADMIN, book)
    assert user == UserInfo("jane", "7", ("devs", "ops", "system:authenticated"), {"acme/scope": ("a", "b")})
    assert book.asked == [
        ("", "users", "", "", "jane"),
        ("", "groups", "", "", "devs"),
        ("", "groups", "", "", "ops"),
        ("authentication.k8s.io", "userextras", "acme/scope", "", "a"),
        ("authentication.k8s.io", "userextras", "acme/scope", "", "b"),
        ("authentication.k8s.io", "uids", "", "", "7"),
    ]


async def test_a_service_account_brings_its_groups():
    book = Book()
    headers = ((b"impersonate-user", b"system:serviceaccount:ml:runner"),)
    user = await impersonate(headers, ADMIN, book)
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ml", "system:authenticated")
    assert book.asked == [("", "serviceaccounts", "", "ml", "runner")]


async def test_the_anonymous_user_is_not_authenticated():
    user = await impersonate(((b"impersonate-user", b"system:anonymous"),), ADMIN, Book())
    assert user.groups == ("system:unauthenticated",)


async def test_one_refusal_refuses_all():
    headers = ((b"impersonate-user", b"jane"), (b"impersonate-group", b"system:masters"))
    with pytest.raises(APIError) as failure:
        await impersonate(headers, ADMIN, Book("groups"))
    assert str(failure.value) == (
        'groups "system:masters" is forbidden: User "admin" cannot impersonate resource "groups" '
        'in API group "" at the cluster scope: not yours'
    )


async def test_who_cannot_be_asked_refuses():
    book = Book()
    book.failure = unavailable("down")
    with pytest.raises(APIError) as failure:
        await impersonate(((b"impersonate-user", b"jane"),), ADMIN, book)
    assert failure.value.code == 403


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        (
            ((b"impersonate-group", b"devs"),),
            'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, '
            "Extra:map[string][]string(nil)} without impersonating a user name",
        ),
        (
            ((b"impersonate-uid", b"7"), (b"impersonate-extra-a", b"x")),
            'requested &user.DefaultInfo{Name:"", UID:"7", Groups:[]string(nil), '
            'Extra:map[string][]string{"a":[]string{"x"}}} without impersonating a user name',
        ),
    ],
)
async def test_parts_without_a_user_are_a_bad_request(headers, text):
    with pytest.raises(APIError) as failure:
        await impersonate(headers, ADMIN, Book())
    assert (failure.value.code, str(failure.value)) == (400, text)


@pytest.mark.parametrize(
    "name",
    [
        "jane",
        "system:serviceaccount:ml",
        "system:serviceaccount:ml:a:b",
        "system:serviceaccount:ML:a",
        "x:ml:a",
    ],
)
def test_other_names_are_no_service_accounts(name):
    assert split_service_account(name) is None


def test_the_headers_go_no_further():
    headers = [(b"impersonate-user", b"a"), (b"impersonate-extra-x", b"b"), (b"host", b"c")]
    assert strip(headers) == [(b"host", b"c")]
