"""What the chain does to every request, seen from outside."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from apiserver.auth.authorizer import Attributes, Decision, Requirement, Verdict
from apiserver.auth.user import UserInfo
from apiserver.endpoints.request import SCOPE_KEY, Request
from apiserver.endpoints.respond import send_bytes
from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource
from apiserver.server.chain import ChainConfig, build_chain
from apiserver.server.lifecycle import Lifecycle

JOBS = "/apis/ai.example.com/v1/namespaces/ml/inferencejobs"


class ListAuthorizer:
    """Allows what is listed as (user, verb), and notes what it was asked."""

    def __init__(self, *allowed):
        self.allowed = set(allowed)
        self.asked: list[Attributes] = []

    async def authorize(self, attributes):
        self.asked.append(attributes)
        allowed = (attributes.user.name, attributes.verb) in self.allowed
        return Decision(Verdict.ALLOW if allowed else Verdict.NO_OPINION)


async def ok(scope, receive, send):
    await send_bytes(send, scope[SCOPE_KEY], 200, "application/json", b"{}")


def failing(error):
    async def app(scope, receive, send):
        raise error

    return app


class Gate:
    """An application that answers when it is let."""

    def __init__(self):
        self.entered = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, scope, receive, send):
        self.entered.set()
        await self.open.wait()
        await ok(scope, receive, send)


async def test_an_answer_echoes_the_audit_id_and_forbids_caching(client):
    response = await client(ok).get(JOBS, headers={"Audit-ID": "4711"})
    assert response.status_code == 200
    assert response.headers["audit-id"] == "4711"
    assert response.headers["cache-control"] == "no-cache, private"


async def test_a_request_without_an_audit_id_gets_one(client):
    response = await client(ok).get(JOBS)
    assert len(response.headers["audit-id"]) == 36


async def test_an_api_error_leaves_as_its_status(client):
    response = await client(failing(errors.not_found(GroupResource("g", "things"), "x"))).get(JOBS)
    assert response.status_code == 404
    assert response.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'things.g "x" not found',
        "reason": "NotFound",
        "details": {"name": "x", "group": "g", "kind": "things"},
        "code": 404,
    }
    assert response.headers["audit-id"]


async def test_an_unexpected_error_tells_the_client_nothing_of_its_cause(client):
    response = await client(failing(KeyError("secret"))).get(JOBS, headers={"Audit-ID": "4711"})
    assert response.status_code == 500
    assert response.json()["reason"] == "InternalError"
    assert "secret" not in response.text
    assert "Traceback" not in response.text
    assert "4711" in response.text


async def test_a_timeout_below_becomes_504(client):
    response = await client(failing(TimeoutError())).get(JOBS)
    assert response.status_code == 504
    assert response.json()["reason"] == "Timeout"


async def test_a_request_over_its_own_timeout_becomes_504(client):
    response = await client(Gate()).get(JOBS, params={"timeout": "1ms"})
    assert response.status_code == 504
    assert response.json()["message"] == "Timeout: request did not complete within the allotted timeout"


async def test_an_unreadable_timeout_is_a_bad_request(client):
    response = await client(ok).get(JOBS, params={"timeout": "soon"})
    assert response.status_code == 400
    assert response.json()["message"] == (
        'invalid timeout specified in the request URL - time: invalid duration "soon"'
    )


async def test_a_watch_has_no_time_limit(client):
    gate = Gate()
    watching = asyncio.create_task(client(gate, request_timeout=1e-9).get(JOBS, params={"watch": "1"}))
    await gate.entered.wait()
    gate.open.set()
    assert (await watching).status_code == 200


async def test_unknown_credentials_are_401(client):
    response = await client(ok).get(JOBS, headers={"Authorization": "Bearer mallory"})
    assert response.status_code == 401
    assert response.json()["message"] == "Unauthorized"


async def test_what_is_not_allowed_is_403_in_the_usual_words(client):
    response = await client(ok).delete(f"{JOBS}/llama")
    assert response.status_code == 403
    assert response.json()["message"] == (
        'inferencejobs.ai.example.com "llama" is forbidden: User "alice" cannot delete resource '
        '"inferencejobs" in API group "ai.example.com" in the namespace "ml"'
    )
    response = await client(ok).post("/metrics")
    assert response.json()["message"] == 'forbidden: User "alice" cannot post path "/metrics"'


async def test_nothing_that_speaks_for_a_user_reaches_the_application(client):
    seen = {}

    async def app(scope, receive, send):
        seen.update(scope["headers"])
        seen.update(scope[SCOPE_KEY].headers)
        await ok(scope, receive, send)

    forged = {"X-Remote-User": "root", "X-Remote-Group": "system:masters", "X-Remote-Extra-Scopes": "all"}
    response = await client(app).get(JOBS, headers=forged)
    assert response.status_code == 200
    assert not [name for name in seen if name.startswith(b"x-remote") or name == b"authorization"]


async def test_impersonation_needs_permission(client):
    response = await client(ok).get(JOBS, headers={"Impersonate-User": "bob"})
    assert response.status_code == 403
    assert response.json()["message"] == (
        'users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" '
        "at the cluster scope"
    )


async def test_whoever_may_impersonate_acts_with_the_rights_of_the_other(client):
    seen = []

    async def app(scope, receive, send):
        seen.append(scope[SCOPE_KEY])
        await ok(scope, receive, send)

    headers = {"Authorization": "Bearer root", "Impersonate-User": "alice"}
    response = await client(app).get(JOBS, headers=headers)
    assert response.status_code == 200
    assert (seen[0].user.name, seen[0].impersonator.name) == ("alice", "root")
    assert b"impersonate-user" not in seen[0].headers
    assert (await client(app).delete(JOBS, headers=headers)).status_code == 403


async def test_requests_above_the_limit_are_429_with_retry_after(client):
    gate = Gate()
    limited = client(gate, max_reading=1)
    first = asyncio.create_task(limited.get(JOBS))
    await gate.entered.wait()
    refused = await limited.get(JOBS)
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["reason"] == "TooManyRequests"
    gate.open.set()
    assert (await first).status_code == 200
    assert (await limited.get(JOBS)).status_code == 200


async def test_the_privileged_group_is_let_in_when_all_slots_are_taken(client):
    gate = Gate()
    limited = client(gate, max_reading=1)
    first = asyncio.create_task(limited.get(JOBS))
    await gate.entered.wait()
    second = asyncio.create_task(limited.get(JOBS, headers={"Authorization": "Bearer root"}))
    gate.open.set()
    assert (await second).status_code == 200
    await first


async def test_watches_and_probes_take_no_slot(client):
    gate = Gate()
    limited = client(gate, max_reading=1)
    first = asyncio.create_task(limited.get(JOBS))
    await gate.entered.wait()
    gate.open.set()
    assert (await limited.get(JOBS, params={"watch": "true"})).status_code == 200
    assert (await limited.get("/readyz")).status_code == 200
    await first


async def test_a_404_before_start_up_is_over_is_a_503(client):
    app = failing(errors.no_such_path())
    response = await client(app, is_complete=lambda: False).get("/apis/ai.example.com/v1/nothing")
    assert response.status_code == 503
    assert response.json()["details"] == {"retryAfterSeconds": 5}
    assert response.headers["retry-after"] == "5"
    assert (await client(app).get("/apis/ai.example.com/v1/nothing")).status_code == 404


async def test_new_requests_are_turned_away_during_shutdown(client):
    lifecycle = Lifecycle()
    served = client(ok, lifecycle=lifecycle)
    assert (await served.get(JOBS)).status_code == 200
    lifecycle.refusing.set()
    response = await served.get(JOBS)
    assert response.status_code == 503
    assert response.headers["connection"] == "close"
    assert (await served.get("/livez")).status_code == 200


async def test_the_lifecycle_knows_how_many_requests_are_under_way(client):
    lifecycle = Lifecycle()
    gate = Gate()
    running = asyncio.create_task(client(gate, lifecycle=lifecycle).get(JOBS))
    await gate.entered.wait()
    assert lifecycle.requests == 1
    assert not await lifecycle.drained(0)
    gate.open.set()
    await running
    assert await lifecycle.drained(1)


async def test_a_failure_after_the_answer_began_ends_it_without_a_final_chunk():
    from apiserver.server.filters.begin import begin
    from apiserver.server.filters.panic_guard import panic_guard

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise RuntimeError("broken")

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    await begin()(panic_guard()(app))(scope, None, send)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[-1]["more_body"]


async def test_warnings_become_headers(client):
    async def app(scope, receive, send):
        request: Request = scope[SCOPE_KEY]
        request.warnings += ['unknown field "spec.x"', 'unknown field "spec.x"', "second"]
        await ok(scope, receive, send)

    response = await client(app).get(JOBS)
    assert response.headers.get_list("warning") == [
        r'299 - "unknown field \"spec.x\""',
        '299 - "second"',
    ]


@pytest.mark.parametrize("path", ["/apis/ai.example.com/v1/watch", "/api/v1/proxy"])
async def test_a_verb_prefix_without_a_resource_is_a_bad_request(client, path):
    assert (await client(ok).get(path)).status_code == 400


def sample(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


async def test_requests_are_counted_under_kubernetes_labels(client):
    labels = {
        "verb": "LIST",
        "dry_run": "",
        "group": "ai.example.com",
        "version": "v1",
        "resource": "inferencejobs",
        "subresource": "",
        "scope": "namespace",
        "component": "apiserver",
    }
    before = sample("apiserver_request_total", **labels, code="200")
    timed = sample("apiserver_request_duration_seconds_count", **labels)
    await client(ok).get(JOBS)
    assert sample("apiserver_request_total", **labels, code="200") == before + 1
    assert sample("apiserver_request_duration_seconds_count", **labels) == timed + 1


async def test_strangers_cannot_invent_label_values(client):
    await client(ok).get("/apis/invented.example/v9/whatever/name/sub")
    await client(ok).request("BREW", "/invented-path")
    names = {
        value
        for metric in REGISTRY.collect()
        for one in metric.samples
        if metric.name.startswith("apiserver_")
        for value in one.labels.values()
    }
    assert not names & {"invented.example", "v9", "whatever", "sub", "/invented-path", "BREW"}


async def test_refusals_are_counted_as_well(client):
    labels = {
        "verb": "DELETE",
        "dry_run": "",
        "group": "ai.example.com",
        "version": "v1",
        "resource": "inferencejobs",
        "subresource": "",
        "scope": "resource",
        "component": "apiserver",
        "code": "403",
    }
    before = sample("apiserver_request_total", **labels)
    await client(ok).delete(f"{JOBS}/llama")
    assert sample("apiserver_request_total", **labels) == before + 1


async def test_the_authorizer_is_told_of_selectors(client):
    authorizer = ListAuthorizer(("alice", "list"))
    selectors = {"labelSelector": "a in (x,y),!b,c>1", "fieldSelector": "status.phase!=Ready"}
    await client(ok, authorizer=authorizer).get(JOBS, params=selectors)
    (asked,) = authorizer.asked
    assert asked.label_requirements == (
        Requirement("a", "In", ("x", "y")),
        Requirement("b", "DoesNotExist"),
    )
    assert asked.field_requirements == (Requirement("status.phase", "NotIn", ("Ready",)),)


async def test_a_broken_selector_is_left_to_the_endpoint(client):
    authorizer = ListAuthorizer(("alice", "list"))
    broken = {"labelSelector": "a in (", "fieldSelector": "x"}
    assert (await client(ok, authorizer=authorizer).get(JOBS, params=broken)).status_code == 200
    assert authorizer.asked[0].label_requirements == ()


async def test_an_api_error_of_one_of_several_tasks_keeps_its_status(client):
    error = ExceptionGroup("tasks", [ExceptionGroup("inner", [errors.bad_request("broken")])])
    response = await client(failing(error)).get(JOBS)
    assert (response.status_code, response.json()["message"]) == (400, "broken")


@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"]),
    path=st.text(alphabet="/apis/v1watchproxy.%é\x00 ?#", max_size=40),
    query=st.binary(max_size=60),
    headers=st.lists(
        st.tuples(
            st.sampled_from(
                [
                    b"accept",
                    b"audit-id",
                    b"authorization",
                    b"impersonate-user",
                    b"impersonate-group",
                    b"timeout",
                ]
            ),
            st.binary(max_size=30),
        ),
        max_size=6,
    ),
)
async def test_no_request_however_malformed_is_a_fault_of_ours(method, path, query, headers):
    authorizer = ListAuthorizer()
    config = ChainConfig(TokenAuthenticator(), authorizer, Lifecycle())
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": f"/{path}", "query_string": query, "headers": headers}
    await build_chain(ok, config)(scope, None, send)
    assert sent[0]["status"] in {200, 400, 401, 403}
    assert not sent[-1].get("more_body")


class TokenAuthenticator:
    """Knows nobody but lets the nameless in."""

    async def authenticate(self, credentials):
        if any(name == b"authorization" for name, _ in credentials.headers):
            return None
        return UserInfo("system:anonymous", groups=("system:unauthenticated",))
