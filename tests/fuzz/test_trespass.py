"""What one may not do stays undone, however it is asked for: what was authorized is what is served.

The authorizer writes down every question; the store tells what was done. Nothing happens unasked.
"""

from __future__ import annotations

import json
import operator
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.auth.anonymous import AnonymousAuthenticator
from apiserver.auth.authorizer import Attributes, Decision, Verdict, local_authorizer
from apiserver.auth.static_token import StaticTokenAuthenticator
from apiserver.auth.union import UnionAuthenticator
from apiserver.auth.user import UserInfo
from apiserver.endpoints.request import Request
from apiserver.endpoints.request_info import exact_name, parse_query, request_info
from apiserver.machinery.errors import APIError
from apiserver.machinery.selectors import parse_field_selector
from apiserver.server.filters.authorize import attributes_of

from .target import GROUP, JOBS, REASONS, Attempt, Target, complaint, target

TOKEN = "t" * 43
JSON = ((b"content-type", b"application/json"),)
MERGE = ((b"content-type", b"application/merge-patch+json"),)
APPLY = ((b"content-type", b"application/apply-patch+yaml"),)
OPEN = ("/healthz", "/livez", "/readyz")


class Notebook:
    """Allows what is listed as verbs, or (verb, subresource); writes down what it was asked."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = set(allowed)
        self.asked: list[Attributes] = []

    async def authorize(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        what = f"{attributes.verb}/{attributes.subresource}" if attributes.subresource else attributes.verb
        return Decision(Verdict.ALLOW if what in self.allowed else Verdict.NO_OPINION)

    def verbs(self) -> list[str]:
        return [question.verb for question in self.asked]


class Somebody:
    """Takes everybody for an ordinary user."""

    async def authenticate(self, credentials):
        return UserInfo("eve", groups=("system:authenticated",))


def job(name: str = "a", **spec: object) -> bytes:
    metadata = {"name": name, "namespace": "ml"}
    whole = {"apiVersion": "ai.example.com/v1", "kind": "InferenceJob", "metadata": metadata}
    return json.dumps({**whole, "spec": {"image": "x", **spec}}).encode()


@pytest.fixture
async def guarded(tmp_path):
    """(target, notebook): nothing is allowed until the notebook says so."""
    notebook = Notebook()
    async with target(tmp_path, authenticator=Somebody(), authorizer=notebook) as served:
        yield served, notebook


@pytest.fixture
async def stranger(tmp_path):
    """The target as `dev` protects it: one token, and anonymous for everybody else."""
    authenticator = UnionAuthenticator((StaticTokenAuthenticator(TOKEN),), anonymous=AnonymousAuthenticator())
    async with target(
        tmp_path, authenticator=authenticator, authorizer=local_authorizer(), core=True
    ) as served:
        yield served


def names(served: Target) -> list[str]:
    """The jobs that there are."""
    store = served.registry.get("ai.example.com", "inferencejobs")
    return [entry.view.name for entry in store.cache.entries(store.keys.collection(store.resource, "ml"))]


async def code_of(
    served: Target, method: str, path: str, body: bytes = b"", headers=JSON, query: bytes = b""
) -> int:
    attempt = Attempt(method, path, query, headers, body)
    answer = await served.send(attempt)
    assert not complaint(attempt, answer), answer.message
    return answer.code


WRITES = {
    "create": ("POST", JOBS, job("b"), JSON, b""),
    "update": ("PUT", f"{JOBS}/a", job("a", priority=7), JSON, b""),
    "patch": ("PATCH", f"{JOBS}/a", b'{"spec":{"priority":7}}', MERGE, b""),
    "delete": ("DELETE", f"{JOBS}/a", b"", JSON, b""),
    "deletecollection": ("DELETE", JOBS, b"", JSON, b""),
    "update/status": ("PUT", f"{JOBS}/a/status", job(), JSON, b""),
    "patch/status": ("PATCH", f"{JOBS}/a/status", b'{"status":{"phase":"Ready"}}', MERGE, b""),
    "patch/scale": ("PATCH", f"{JOBS}/a/scale", b'{"spec":{"replicas":7}}', MERGE, b""),
}


@pytest.mark.parametrize("needed", WRITES)
async def test_each_write_needs_its_own_verb_and_no_other_will_do(guarded, needed):
    served, notebook = guarded
    notebook.allowed = {"create"}
    assert await code_of(served, "POST", JOBS, job()) == 201
    everything = {*WRITES, "get", "list", "watch", "get/status", "get/scale"}
    before = (await _raw(served, notebook)), names(served)
    notebook.allowed = everything - {needed}
    method, path, body, headers, query = WRITES[needed]
    assert await code_of(served, method, path, body, headers, query) == 403
    assert ((await _raw(served, notebook)), names(served)) == before


async def _raw(served: Target, notebook: Notebook) -> bytes:
    allowed, notebook.allowed = notebook.allowed, {"get"}
    answer = await served.send(Attempt("GET", f"{JOBS}/a"))
    notebook.allowed = allowed
    return answer.body


async def test_an_apply_that_creates_needs_the_permission_to_create(guarded):
    served, notebook = guarded
    notebook.allowed = {"patch", "get"}
    query = b"fieldManager=m"
    assert await code_of(served, "PATCH", f"{JOBS}/new", job("new"), APPLY, query) == 403
    assert names(served) == []
    assert notebook.verbs() == ["patch", "create"]
    assert (notebook.asked[1].name, notebook.asked[1].namespace, notebook.asked[1].subresource) == (
        "new",
        "ml",
        "",
    )
    notebook.allowed |= {"create"}
    assert await code_of(served, "PATCH", f"{JOBS}/new", job("new"), APPLY, query) == 201


async def test_a_dry_run_needs_the_same_permissions(guarded):
    served, notebook = guarded
    notebook.allowed = {"patch"}
    query = b"fieldManager=m&dryRun=All"
    assert await code_of(served, "PATCH", f"{JOBS}/new", job("new"), APPLY, query) == 403
    assert await code_of(served, "POST", JOBS, job(), JSON, b"dryRun=All") == 403


async def test_a_post_to_a_name_creates_no_other(guarded):
    """Who may create one name (`resourceNames`), may not put another one into the body."""
    served, notebook = guarded
    notebook.allowed = {"create"}
    generated = job().replace(b'"name": "a"', b'"generateName": "a"')
    assert generated != job()
    assert await code_of(served, "POST", f"{JOBS}/mine", job("other")) == 400
    assert await code_of(served, "POST", f"{JOBS}/mine", generated) == 400
    assert names(served) == []
    assert await code_of(served, "POST", f"{JOBS}/mine", job("mine")) == 201


async def test_a_put_never_creates(guarded):
    served, notebook = guarded
    notebook.allowed = {"update", "create"}
    assert await code_of(served, "PUT", f"{JOBS}/new", job("new")) == 404
    assert names(served) == []


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_the_status_cannot_be_written_through_the_main_resource(guarded, method):
    served, notebook = guarded
    notebook.allowed = {"create", "update", "patch", "get"}
    body = json.loads(job()) | {"status": {"phase": "Succeeded", "readyReplicas": 99}}
    assert await code_of(served, "POST", JOBS, json.dumps(body).encode()) == 201
    created = json.loads(await _raw(served, notebook))
    assert "readyReplicas" not in created.get("status", {})
    body["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"]
    headers = JSON if method == "PUT" else MERGE
    assert await code_of(served, method, f"{JOBS}/a", json.dumps(body).encode(), headers) == 200
    assert json.loads(await _raw(served, notebook)).get("status") == created.get("status")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["", "/a", "/a/status", "/a/scale"])
async def test_gpu_nodes_cannot_be_written_by_anybody(guarded, method, path):
    served, notebook = guarded
    notebook.allowed = {
        *WRITES,
        *(f"{verb}/{sub}" for verb in WRITES for sub in ("status", "scale")),
        "create/status",
    }
    body = b'{"apiVersion":"ai.example.com/v1","kind":"GPUNode","metadata":{"name":"a"}}'
    headers = MERGE if method == "PATCH" else JSON
    assert await code_of(served, method, f"{GROUP}/gpunodes{path}", body, headers) in {404, 405}


FORGED = (
    ((b"x-remote-user", b"admin"), (b"x-remote-group", b"system:masters")),
    ((b"X-Remote-User", b"admin"), (b"X-Remote-Group", b"system:masters")),
    ((b"impersonate-user", b"admin"), (b"impersonate-group", b"system:masters")),
    ((b"authorization", b"Bearer "),),
    ((b"authorization", b"Bearer " + TOKEN[:-1].encode()),),
    ((b"authorization", b"Bearer " + TOKEN.encode() + b"x"),),
    ((b"authorization", b"bearer\t" + TOKEN.encode()),),
    ((b"authorization", b"Basic YWRtaW46YWRtaW4="),),
    ((b"authorization", b"Bearer \xff\xfe"),),
    ((b"cookie", b"token=" + TOKEN.encode()),),
    (),
)


CLOSED = (
    *("/", "/apis", "/apis/ai.example.com/v1", "/openapi/v2", "/openapi/v3", "/metrics", "/version", JOBS),
    *("/api/v1/pods", "/api/v1/namespaces", f"{GROUP}/gpunodes", "/healthzz"),
)


@pytest.mark.parametrize("headers", FORGED, ids=str)
async def test_forged_identities_open_nothing(stranger, headers):
    for path in (*CLOSED, "/livez/../metrics", "/readyz/../apis"):
        attempt = Attempt("GET", path, headers=headers)
        answer = await stranger.send(attempt)
        assert not complaint(attempt, answer)
        assert answer.code in ({401, 403} if path in CLOSED else {401, 403, 404}), path
        assert TOKEN.encode() not in answer.body


async def test_the_token_opens(stranger):
    headers = ((b"authorization", b"Bearer " + TOKEN.encode()),)
    assert (await stranger.send(Attempt("GET", JOBS, headers=headers))).code == 200


PARTS = st.sampled_from(
    [
        "",
        ".",
        "..",
        "%2e%2e",
        "%2F",
        "api",
        "apis",
        "APIS",
        "ai.example.com",
        "v1",
        "v1alpha1",
        "V1",
        "namespaces",
        "ml",
        "inferencejobs",
        "InferenceJobs",
        "gpunodes",
        "a",
        "status",
        "scale",
        "watch",
        "proxy",
        "healthz",
        "livez",
        "readyz",
        "metrics",
        "version",
        "openapi",
        "v2",
        "v3",
        "pods",
        "binding",
        "\\",
        ";",
        "a;b",
        "\x00",
        "ñ",
        "*",
        " ",
    ]
)
PATHS = st.builds(
    lambda start, parts, end: start + "/".join(parts) + end,
    st.sampled_from(
        ["/", "//", "///", "/./", "/../", f"{JOBS}/", f"{GROUP}/", f"{GROUP}/watch/", "/api/v1/"]
    ),
    st.lists(PARTS, max_size=8),
    st.sampled_from(["", "/", "//", "/.", "?", "#"]),
).map(unquote)
METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FOO"])
QUERIES = st.sampled_from(
    [
        b"",
        b"watch=1",
        b"watch=false",
        b"watch=1&watch=0",
        b"fieldSelector=metadata.name%3Da",
        b"limit=x&watch=1",
        b"fieldSelector=metadata.name%3D..",
        b"watch",
        b"WATCH=1",
        b"watch=1;x",
        b"dryRun=All",
        b"fieldManager=m",
    ]
)


async def test_no_path_gives_a_stranger_more_than_health(stranger):
    """Whatever the path: who may do nothing sees nothing but health."""
    attempts: list[tuple[str, str, bytes]] = []

    @settings(max_examples=250)
    @given(METHODS, PATHS, QUERIES)
    def collect(method, path, query):
        attempts.append((method, path, query))

    collect()
    for method, path, query in attempts:
        attempt = Attempt(method, path, query, JSON, job() if method == "POST" else b"")
        answer = await stranger.send(attempt)
        assert not complaint(attempt, answer), attempt
        if not path.startswith(OPEN):
            assert answer.code in {400, 401, 403}, (attempt, answer.code)
        elif answer.code == 200:
            assert len(answer.body) < 2_000
            assert b"apiVersion" not in answer.body


async def test_what_was_authorized_is_what_is_served(tmp_path):
    """For each path: the verb, resource, namespace and name that were asked about are those of what the store
    then did. The store is watched, not the router."""
    attempts: list[tuple[str, str, bytes]] = []

    @settings(max_examples=250)
    @given(METHODS, PATHS, QUERIES)
    def collect(method, path, query):
        attempts.append((method, path, query))

    collect()
    notebook = Notebook(*WRITES, "get", "list", "watch", "get/status", "get/scale", "update/scale")
    async with target(tmp_path, authenticator=Somebody(), authorizer=notebook) as served:
        store = served.registry.get("ai.example.com", "inferencejobs")
        touched: list[bytes] = []
        key, collection = store.keys.object, store.keys.collection
        store.keys = _Noting(key, collection, touched)
        for method, path, query in attempts:
            body, headers = job() if method != "PATCH" else b'{"spec":{"priority":1}}', JSON
            if method == "PATCH":
                headers = MERGE
            if method == "DELETE":
                body = b""
            notebook.asked.clear()
            touched.clear()
            answer = await served.send(Attempt(method, path, query, headers, body))
            assert answer.code in {200, 201} or answer.code in REASONS, (method, path)
            for parts in touched:
                question = notebook.asked[0]
                assert (question.resource, question.group) == ("inferencejobs", "ai.example.com")
                # A create names its object in the body; a list may have been allowed for one name alone.
                may = (question.namespace, question.name)[: 1 + bool(question.name)]
                assert all(map(operator.eq, parts, may)), (method, path, query, parts, question)
                assert question.name or len(parts) == 1 or question.verb in {"create", "deletecollection"}


class _Noting:
    """Keys that are noted when they are made."""

    def __init__(self, key, collection, touched) -> None:
        self._key, self._collection, self._touched = key, collection, touched

    def object(self, resource, namespace, name):
        self._touched.append((namespace, name))
        return self._key(resource, namespace, name)

    def collection(self, resource, namespace):
        self._touched.append((namespace,))
        return self._collection(resource, namespace)


@settings(max_examples=300)
@given(METHODS, PATHS, QUERIES)
def test_attributes_say_what_the_path_says(method, path, query):
    """Parsing never fails but by a 400, and the authorizer gets every part that the router looks at."""
    try:
        info = request_info(method, path, parse_query(query))
    except APIError:
        return
    attributes = attributes_of(Request(info, user=UserInfo("eve")))
    assert attributes.verb == info.verb
    if info.is_resource_request:
        fields = ("group", "version", "resource", "subresource", "namespace", "name")
        assert [getattr(attributes, name) for name in fields] == [getattr(info, name) for name in fields]
    else:
        assert attributes.path == path


@settings(max_examples=500)
@given(
    st.lists(
        st.sampled_from(
            ["metadata.name", "a", "=", "==", "!=", ",", "\\", " ", "x", "\\,", "\\=", "ml", "\n"]
        )
    )
)
def test_a_name_that_a_selector_is_authorized_for_is_all_that_it_selects(parts):
    """Permissions for single names (`resourceNames`) extend to lists of that name, and to no other list."""
    text = "".join(parts)
    name = exact_name(text)
    if not name:
        return
    try:
        selector = parse_field_selector(text)
    except APIError:
        return
    assert not selector.matches({"metadata.name": f"{name}-other"})
    assert not selector.matches({"metadata.name": ""})
