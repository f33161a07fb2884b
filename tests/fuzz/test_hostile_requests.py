"""Bodies, parameters and headers made to hurt: each is answered with a Status, soon, and with few bytes."""

from __future__ import annotations

import json
import time
from urllib.parse import quote

import pytest

from apiserver.machinery.errors import MAX_CAUSES

from .target import JOBS, Attempt, Target, complaint, target

MAX_CPU_SECONDS = 5.0
"""Of processor time, on a slow machine. What this table holds took up to 24 s once."""
MAX_ANSWER = 8 << 20

JSON = b"application/json"
YAML = b"application/yaml"
JSON_PATCH = b"application/json-patch+json"
MERGE_PATCH = b"application/merge-patch+json"
APPLY_PATCH = b"application/apply-patch+yaml"


def job(spec: str = "", metadata: str = "") -> bytes:
    meta, rest = f'{{"name":"a"{metadata}}}', f'{{"image":"x"{spec}}}'
    return (
        f'{{"apiVersion":"ai.example.com/v1","kind":"InferenceJob","metadata":{meta},"spec":{rest}}}'
    ).encode()


def variables(count: int) -> str:
    return ',"env":[' + ",".join(f'{{"name":"a{number}"}}' for number in range(count)) + "]"


def many(item: str, count: int) -> str:
    """A list body with the position in place of `#`."""
    return ",".join(item.replace("#", str(number)) for number in range(count))


def deep(*, length: int) -> bytes:
    return json.dumps(
        [{"op": "add", "path": "/x" + "/a" * depth, "value": {}} for depth in range(length)]
    ).encode()


def growing(op: str, times: int) -> bytes:
    """Puts what there is below itself, again and again."""
    start = [{"op": "add", "path": "/x", "value": {"a": {}}}]
    down = "/a" * 100
    chain = [{"op": "add", "path": "/x" + "/a" * depth, "value": {}} for depth in range(1, 101)]
    again = [{"op": op, "from": "/x", "path": f"/y{n}"} for n in range(times)]
    nested = [
        {"op": op, "from": f"/y{n}" if op == "move" else "/x", "path": f"/x{down}/b"} for n in range(times)
    ]
    return json.dumps([*start, *chain, *again[:1], *nested]).encode()


BODIES = {
    "many arguments": (JSON, job(f',"args":[{many(chr(34) + "a#" + chr(34), 300_000)}]'), {400}),
    "many variables": (
        JSON,
        job(variables(45_000)),
        {201, 413},
    ),
    "many wrong arguments": (JSON, job(f',"args":[{many("1", 90_000)}]'), {422}),
    "many wrong tolerations": (JSON, job(f',"tolerations":[{many("{}", 90_000)}]'), {422}),
    "many wrong labels": (
        JSON,
        job(metadata=f',"labels":{{{many(chr(34) + "-#" + chr(34) + ":1", 90_000)}}}'),
        {400, 422},
    ),
    "many unknown fields": (JSON, job("," + many('"u#":1', 90_000)), {201}),
    "the same field very often": (JSON, job("," + many('"u":1', 400_000)), {201}),
    "one long string": (JSON, job(f',"args":["{"a" * 3_000_000}"]'), {201, 413}),
    "a long row of digits": (JSON, job(f',"priority":{"1" * 3_000_000}'), {400}),
    "a long row of digits after the point": (JSON, job(f',"priority":0.{"1" * 3_000_000}'), {422}),
    "a long row of digits as quantity": (JSON, job(f',"resources":{{"cpu":"{"1" * 3_000_000}x"}}'), {422}),
    "an endless exponent": (JSON, job(',"priority":1e99999999999'), {400}),
    "a number that rounds to infinity": (JSON, job(f',"podTemplate":{{"x":{"9" * 400}}}'), {400}),
    "deep lists": (JSON, b"[" * 1_500_000 + b"]" * 1_500_000, {400}),
    "deep objects": (JSON, b'{"a":' * 500_000, {400}),
    "bytes that are no UTF-8": (JSON, job().replace(b'"x"', b'"\xff\xfe\x80"'), {201, 422}),
    "a lone surrogate": (JSON, job().replace(b'"x"', b'"\\ud800"'), {201, 422}),
    "a NUL": (JSON, job().replace(b'"x"', b'"\\u0000"'), {201, 422}),
    "a list in YAML": (YAML, b"- a\n" * 780_000, {400}),
    "lists in YAML": (YAML, b"[" + b"[]," * 1_000_000 + b"]", {400}),
    "deep lists in YAML": (YAML, b"[" * 3_000_000, {400}),
    "deep maps in YAML": (YAML, b"{a: " * 700_000, {400}),
    "dashes": (YAML, b"- " * 1_500_000, {400}),
    "question marks": (YAML, b"? " * 1_500_000, {400}),
    "a billion laughs": (
        YAML,
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in range(98, 110)),
        {400},
    ),
    "a billion merges": (
        YAML,
        b"a: &a {x: 1}\n"
        + b"".join(
            b"%c: &%c {<<: [%s], %c: 1}\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9), c)
            for c in range(98, 122)
        ),
        {400},
    ),
    "an alias of itself": (YAML, b"a: &a [*a]", {400}),
    "many anchors": (YAML, b"".join(b"- &a%d x\n" % n for n in range(250_000)), {400}),
    "a tag that makes objects": (YAML, b'!!python/object/apply:os.system ["id"]', {400}),
    "tags of all kinds": (
        YAML,
        b'a: !!binary "@"\nb: !!int "x"\nc: !!float y\nd: !!timestamp z\ne: !!set {a}',
        {400},
    ),
    "a long key": (YAML, b'"' + b"a" * 2_000_000 + b'": 1', {400}),
    "YAML of 16 bits": (YAML, job().decode().encode("utf-16"), {201}),
    "compressed": (JSON, b"\x1f\x8b\x08\x00" + b"\x00" * 100, {400}),
    "too large": (JSON, b" " * (3 * 1024 * 1024 + 1), {413}),
    "blanks up to the limit": (JSON, b" " * (3 * 1024 * 1024), {400}),
}

PATCHES = {
    "ten thousand operations": (
        JSON_PATCH,
        json.dumps([{"op": "replace", "path": "/spec/image", "value": "x"}] * 10_000),
        {200},
    ),
    "too many operations": (
        JSON_PATCH,
        json.dumps([{"op": "test", "path": "/kind", "value": 1}] * 10_001),
        {413},
    ),
    "unknown fields of operations": (
        JSON_PATCH,
        json.dumps(
            [{"op": "test", "path": "/kind", "value": "InferenceJob", f"z{n}": 1} for n in range(9_999)]
        ),
        {200},
    ),
    "insertions at the front": (
        JSON_PATCH,
        json.dumps(
            [
                {"op": "add", "path": "/spec/args", "value": []},
                *[{"op": "add", "path": "/spec/args/0", "value": "a"}] * 9_999,
            ]
        ),
        {200},
    ),
    "ever deeper": (JSON_PATCH, deep(length=400), {422}),
    "deeper by copies": (JSON_PATCH, growing("copy", 20), {422}),
    "deeper by moves": (JSON_PATCH, growing("move", 20), {422}),
    "larger by copies": (
        JSON_PATCH,
        json.dumps(
            [
                {"op": "add", "path": "/x", "value": ["x" * 100] * 100},
                *[{"op": "copy", "from": "/x", "path": "/x/-"}] * 40,
            ]
        ),
        {422},
    ),
    "wider by copies": (
        JSON_PATCH,
        json.dumps(
            [
                {"op": "add", "path": "/x", "value": [0] * 50_000},
                *[{"op": "copy", "from": "/x", "path": "/x/-"}] * 3,
            ]
        ),
        {422},
    ),
    "tildes": (
        JSON_PATCH,
        json.dumps(
            [
                {"op": "add", "path": "/metadata/annotations", "value": {}},
                {"op": "add", "path": "/metadata/annotations/" + "~0~1~" * 100_000, "value": "x"},
            ]
        ),
        {200, 422},
    ),
    "slashes": (JSON_PATCH, json.dumps([{"op": "test", "path": "/" * 1_000_000, "value": 1}]), {422}),
    "a number beyond all floats": (
        JSON_PATCH,
        b'[{"op":"add","path":"/spec/priority","value":1e999}]',
        {400},
    ),
    "a merge of unknown fields": (
        MERGE_PATCH,
        f'{{"spec":{{{many(chr(34) + "u#" + chr(34) + ":1", 90_000)}}}}}',
        {200},
    ),
    "a deep merge": (MERGE_PATCH, b'{"spec":' * 120 + b"{}" + b"}" * 120, {200, 422}),
    "an apply of variables": (
        APPLY_PATCH,
        job(variables(45_000)),
        {200, 409, 413},
    ),
    "an apply of too much": (APPLY_PATCH, job(f',"args":[{many(chr(34) + "a" + chr(34), 300_000)}]'), {400}),
    "an apply of aliases": (APPLY_PATCH, b"a: &a [1]\nb: &b [*a,*a]\nc: [" + b"*b," * 100_000 + b"]", {400}),
}

QUERIES = {
    "a set of many values": (
        b"labelSelector=a%20in%20(" + b",".join(b"%d" % n for n in range(100_000)) + b")",
        {400},
    ),
    "many labels": (b"labelSelector=" + b",".join(b"a%d" % n for n in range(100_000)), {400}),
    "parentheses": (b"labelSelector=" + b"(" * 60_000, {400}),
    "many fields": (b"fieldSelector=" + b",".join([b"metadata.name=a"] * 50_000), {400}),
    "backslashes": (b"fieldSelector=metadata.name=" + b"%5C" * 60_000, {200, 400}),
    "exclamation marks": (b"fieldSelector=metadata.name" + b"!" * 60_000, {400}),
    "many parameters": (b"&".join(b"a%d=1" % n for n in range(90_000)), {200}),
    "escapes": (b"a=" + b"%41" * 300_000, {200}),
    "a revision of other digits": ("resourceVersion=²".encode(), {400}),
    "a revision of many digits": (b"resourceVersion=" + b"9" * 100_000, {400}),
    "a limit of many digits": (b"limit=" + b"9" * 100_000, {400}),
    "a token that is no ASCII": (f"continue={quote('é' * 10)}".encode(), {400}),
    "a long token": (b"continue=" + b"QUFB" * 200_000, {400}),
    "a long timeout": (b"timeout=" + b"1s" * 400_000, {200, 400}),
    "a timeout of digits": (b"timeout=" + b"1" * 800_000 + b"h", {200, 400}),
}

HEADERS = {
    "many clauses": ([(b"accept", b"a/b;q=0.1," * 90_000)], {406}),
    "many parameters": ([(b"accept", b"a/b" + b";q=0.1" * 90_000 + b",*/*")], {200}),
    "slashes": ([(b"accept", b"/" * 900_000)], {406}),
    "weights that are no numbers": ([(b"accept", b"*/*;q=nan,application/json;q=inf,a/b;q=1e999")], {200}),
    "many forged extras": ([(b"x-remote-extra-%d" % n, b"x") for n in range(20_000)], {200}),
    "many impersonated extras": (
        [(b"impersonate-user", b"bob"), *((b"impersonate-extra-a", b"%d" % n) for n in range(20_000))],
        {403},
    ),
    "an audit ID that is no text": ([(b"audit-id", b"\xff\x80" * 1_000)], {200}),
    "many encodings": ([(b"accept-encoding", b"gzip;q=0," * 100_000)], {200}),
}


@pytest.fixture
async def served(tmp_path):
    async with target(tmp_path) as running:
        yield running


async def put_through(served: Target, attempt: Attempt, expected: set[int]) -> None:
    began = time.process_time()
    answer = await served.send(attempt)
    seconds = time.process_time() - began
    assert served.faults == []
    assert not complaint(attempt, answer)
    assert answer.code in expected, (answer.code, answer.message[:300])
    assert len(answer.body) < MAX_ANSWER
    assert seconds < MAX_CPU_SECONDS


@pytest.mark.parametrize("case", BODIES)
async def test_a_body(served, case):
    content_type, body, expected = BODIES[case]
    await put_through(
        served, Attempt("POST", JOBS, b"dryRun=All", ((b"content-type", content_type),), body), expected
    )


@pytest.mark.parametrize("case", PATCHES)
async def test_a_patch(served, case):
    content_type, body, expected = PATCHES[case]
    await served.send(Attempt("POST", JOBS, headers=((b"content-type", JSON),), body=job()))
    query = b"dryRun=All" + (b"&fieldManager=m" if content_type == APPLY_PATCH else b"")
    text = body if isinstance(body, bytes) else body.encode()
    await put_through(
        served, Attempt("PATCH", f"{JOBS}/a", query, ((b"content-type", content_type),), text), expected
    )


@pytest.mark.parametrize("case", QUERIES)
async def test_a_query(served, case):
    query, expected = QUERIES[case]
    await put_through(served, Attempt("GET", JOBS, query), expected)


@pytest.mark.parametrize("case", HEADERS)
async def test_headers(served, case):
    headers, expected = HEADERS[case]
    await put_through(served, Attempt("GET", JOBS, headers=tuple(headers)), expected)


@pytest.mark.parametrize("text", ["²", "٣", "9" * 5_000, "-1", "+5", "1.0", "0x1"])
async def test_a_revision_that_is_no_number_is_refused_wherever_it_is_given(served, text):
    await served.send(Attempt("POST", JOBS, headers=((b"content-type", JSON),), body=job()))
    body = job(metadata=f',"resourceVersion":"{text}"')
    await put_through(
        served, Attempt("PUT", f"{JOBS}/a", headers=((b"content-type", JSON),), body=body), {422}
    )
    for path, query in ((f"{JOBS}/a", ""), (JOBS, ""), (JOBS, "&watch=true")):
        await put_through(
            served, Attempt("GET", path, f"resourceVersion={quote(text)}{query}".encode()), {400}
        )


async def test_no_more_than_a_hundred_faults_of_an_object_are_told(served):
    body = job(f',"args":[{many("1", 5_000)}]')
    answer = await served.send(Attempt("POST", JOBS, headers=((b"content-type", JSON),), body=body))
    assert len(answer.json()["details"]["causes"]) == MAX_CAUSES


@pytest.mark.parametrize("wrong", [None, "", "x/v1", "ai.example.com/v9", "a/b/c", 1, [], {}, True])
@pytest.mark.parametrize("path", ["", "/status", "/scale"])
async def test_a_patch_of_the_version_is_refused_or_without_effect(served, wrong, path):
    await served.send(Attempt("POST", JOBS, headers=((b"content-type", JSON),), body=job()))
    # A manager of the other version, so that the patched object would have to be converted.
    other = JOBS.replace("/v1/", "/v1alpha1/")
    applied = job().replace(b"/v1", b"/v1alpha1")
    query = b"fieldManager=other&force=true"
    headers = ((b"content-type", APPLY_PATCH),)
    assert (await served.send(Attempt("PATCH", f"{other}/a", query, headers, applied))).code == 200
    body = json.dumps({"apiVersion": wrong, "spec": {"replicas": 2}}).encode()
    headers = ((b"content-type", MERGE_PATCH),)
    await put_through(
        served, Attempt("PATCH", f"{JOBS}/a{path}", b"", headers, body), {200, 422} if path else {422}
    )
    assert (await served.send(Attempt("GET", f"{JOBS}/a"))).json()["apiVersion"] == "ai.example.com/v1"


@pytest.mark.parametrize(
    "scale",
    [
        {"spec": "x"},
        {"spec": []},
        {"status": 1},
        {"metadata": 1},
        {"metadata": {"resourceVersion": 1}},
        {"metadata": {"uid": []}},
        {"spec": {"replicas": "1"}},
        {"spec": {"replicas": True}},
        {"spec": {"replicas": 2**40}},
        {"spec": {"replicas": 1.5}},
    ],
    ids=str,
)
async def test_a_scale_of_wrong_types_is_refused(served, scale):
    await served.send(Attempt("POST", JOBS, headers=((b"content-type", JSON),), body=job()))
    patch = Attempt(
        "PATCH", f"{JOBS}/a/scale", b"", ((b"content-type", MERGE_PATCH),), json.dumps(scale).encode()
    )
    await put_through(served, patch, {400, 422})
    whole = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, **scale}
    put = Attempt("PUT", f"{JOBS}/a/scale", b"", ((b"content-type", JSON),), json.dumps(whole).encode())
    await put_through(served, put, {400, 422})


@pytest.mark.parametrize("path", ["..", ".", "a%2Fb", "a\x00b", "ñ", "a\nb", "x" * 100_000, " ", "a;b", "%"])
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_a_name_that_cannot_be_is_not_found_or_refused(served, method, path):
    headers = ((b"content-type", APPLY_PATCH if method == "PATCH" else JSON),)
    body = b"" if method in {"GET", "DELETE"} else job().replace(b'"a"', json.dumps(path).encode())
    attempt = Attempt(method, f"{JOBS}/{path}", b"fieldManager=m", headers, body)
    await put_through(served, attempt, {400, 404, 405, 422})
