"""May they: by SubjectAccessReview, group and path; and the texts of refusals."""

from __future__ import annotations

import dataclasses

import pytest

from apiserver.auth.access_review import PATH, AccessReviewAuthorizer, decision_of
from apiserver.auth.authorizer import (
    Attributes,
    Decision,
    PathAuthorizer,
    PrivilegedGroupAuthorizer,
    Requirement,
    UnionAuthorizer,
    Verdict,
    local_authorizer,
    refusal,
    require,
)
from apiserver.auth.reviews import Reviewer
from apiserver.auth.user import UserInfo
from apiserver.machinery.errors import APIError, internal

JANE = UserInfo("jane", "7", ("devs",), {"scopes": ("a",)})
UPDATE = Attributes(
    JANE,
    "update",
    group="ai.example.com",
    version="v1",
    resource="inferencejobs",
    subresource="status",
    namespace="ml",
    name="llama",
)
LIST = Attributes(
    JANE,
    "list",
    group="ai.example.com",
    version="v1",
    resource="inferencejobs",
    label_requirements=(Requirement("team", "In", ("x", "y")), Requirement("old", "DoesNotExist")),
    field_requirements=(Requirement("status.phase", "NotIn", ("Ready",)),),
)
HEALTH = Attributes(UserInfo("system:anonymous"), "get", is_resource_request=False, path="/readyz/etcd")


class Cluster:
    """A host cluster that reviews access."""

    def __init__(self):
        self.specs, self.status, self.failure = [], {"allowed": True, "reason": "RBAC"}, None

    async def create(self, path, body):
        assert path == PATH
        assert (body["apiVersion"], body["kind"]) == ("authorization.k8s.io/v1", "SubjectAccessReview")
        self.specs.append(body["spec"])
        if self.failure:
            raise self.failure
        return {"status": self.status}


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def authorizer(cluster, clock):
    async def pause(seconds):
        clock.advance(seconds)

    return AccessReviewAuthorizer(Reviewer(cluster, PATH, sleep=pause), now=clock.seconds)


async def test_every_attribute_is_sent(authorizer, cluster):
    assert await authorizer.authorize(UPDATE) == Decision(Verdict.ALLOW, "RBAC")
    assert cluster.specs == [
        {
            "user": "jane",
            "uid": "7",
            "groups": ["devs"],
            "extra": {"scopes": ["a"]},
            "resourceAttributes": {
                "verb": "update",
                "group": "ai.example.com",
                "version": "v1",
                "resource": "inferencejobs",
                "subresource": "status",
                "namespace": "ml",
                "name": "llama",
            },
        }
    ]


async def test_selectors_are_sent(authorizer, cluster):
    await authorizer.authorize(LIST)
    attributes = cluster.specs[0]["resourceAttributes"]
    assert attributes["labelSelector"] == {
        "requirements": [
            {"key": "team", "operator": "In", "values": ["x", "y"]},
            {"key": "old", "operator": "DoesNotExist"},
        ]
    }
    assert attributes["fieldSelector"] == {
        "requirements": [{"key": "status.phase", "operator": "NotIn", "values": ["Ready"]}]
    }


async def test_paths_are_sent_as_such(authorizer, cluster):
    await authorizer.authorize(HEALTH)
    assert cluster.specs[0]["nonResourceAttributes"] == {"path": "/readyz/etcd", "verb": "get"}


@pytest.mark.parametrize("allowed", [True, False])
async def test_answers_hold_for_ten_seconds(authorizer, cluster, clock, allowed):
    cluster.status = {"allowed": allowed}
    for seconds, asked in ((0, 1), (9.9, 1), (0.1, 2)):
        clock.advance(seconds)
        assert (await authorizer.authorize(UPDATE)).allowed is allowed
        assert len(cluster.specs) == asked


CHANGES = [
    {"user": UserInfo("joe", "7", ("devs",), {"scopes": ("a",)})},
    {"user": UserInfo("jane", "8", ("devs",), {"scopes": ("a",)})},
    {"user": UserInfo("jane", "7", (), {"scopes": ("a",)})},
    {"user": UserInfo("jane", "7", ("devs",), {"scopes": ("b",)})},
    {"label_requirements": (Requirement("a", "Exists"),)},
    {"field_requirements": (Requirement("a", "In", ("b",)),)},
    {"is_resource_request": False},
    *(
        {field: "other"}
        for field in ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    ),
    {"path": "/other"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
async def test_no_answer_is_given_to_another_question(authorizer, cluster, change):
    await authorizer.authorize(UPDATE)
    await authorizer.authorize(dataclasses.replace(UPDATE, **change))
    assert len(cluster.specs) == 2


async def test_a_failing_review_is_a_503_that_is_not_kept(authorizer, cluster):
    cluster.failure = internal("broken")
    with pytest.raises(APIError) as failure:
        await authorizer.authorize(UPDATE)
    assert (failure.value.code, failure.value.retry_after_seconds) == (503, 1)
    cluster.failure = None
    assert (await authorizer.authorize(UPDATE)).allowed


async def test_questions_of_enormous_size_are_not_kept(authorizer, cluster):
    huge = dataclasses.replace(UPDATE, name="x" * 10_000)
    await authorizer.authorize(huge)
    await authorizer.authorize(huge)
    assert len(cluster.specs) == 2


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ({"allowed": True}, Verdict.ALLOW),
        ({"allowed": False}, Verdict.NO_OPINION),
        ({"allowed": True, "denied": True}, Verdict.DENY),
        ({"denied": True}, Verdict.DENY),
        ({}, Verdict.NO_OPINION),
        ({"allowed": "true"}, Verdict.NO_OPINION),
    ],
)
def test_only_a_plain_yes_is_a_yes(status, verdict):
    assert decision_of(status).verdict is verdict


async def test_masters_are_never_asked_about(cluster, authorizer):
    union = UnionAuthorizer((PrivilegedGroupAuthorizer(), PathAuthorizer(), authorizer))
    master = dataclasses.replace(UPDATE, user=UserInfo("kube-aggregator", groups=("system:masters",)))
    assert (await union.authorize(master)).allowed
    assert (await union.authorize(HEALTH)).allowed
    assert cluster.specs == []
    assert (await union.authorize(UPDATE)).allowed
    assert len(cluster.specs) == 1


@pytest.mark.parametrize("path", ["/healthzz", "/readyzx", "/metrics", "/", "/apis", "/livez2/x"])
async def test_paths_that_only_look_like_health_are_closed(path):
    attributes = dataclasses.replace(HEALTH, path=path)
    assert not (await PathAuthorizer().authorize(attributes)).allowed


async def test_locally_only_the_administrator_may_do_anything():
    local = local_authorizer()
    admin = dataclasses.replace(UPDATE, user=UserInfo("admin", groups=("system:masters",)))
    await require(local, admin)
    await require(local, HEALTH)
    with pytest.raises(APIError) as failure:
        await require(local, UPDATE)
    assert failure.value.code == 403


def test_the_refusal_reads_as_kube_apiservers():
    error = refusal(UPDATE, "RBAC says no")
    assert str(error) == (
        'inferencejobs.ai.example.com "llama" is forbidden: User "jane" cannot update resource '
        '"inferencejobs/status" in API group "ai.example.com" in the namespace "ml": RBAC says no'
    )
    assert error.status()["details"] == {
        "name": "llama",
        "group": "ai.example.com",
        "kind": "inferencejobs",
    }
    assert str(refusal(LIST)) == (
        'inferencejobs.ai.example.com is forbidden: User "jane" cannot list resource "inferencejobs" '
        'in API group "ai.example.com" at the cluster scope'
    )
    hostile = dataclasses.replace(HEALTH, path="/<b>&")
    assert str(refusal(hostile)) == 'forbidden: User "system:anonymous" cannot get path "/&lt;b&gt;&amp;"'
