"""The translator in front of `dev`: what it changes on the way, and what it leaves alone."""

from __future__ import annotations

import orjson
import pytest

from apiserver.simulator.kubectl_ways import MAX_BODY, PROTOBUF, STRATEGIC, understand_kubectl

NODE = "/api/v1/nodes/gpu-0"


class Caught:
    """An application that notes what it got."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes]] = []

    async def __call__(self, scope, receive, send) -> None:
        body = (await receive())["body"]
        headers = dict(scope["headers"])
        assert headers.get(b"content-length", b"%d" % len(body)) == b"%d" % len(body)
        self.seen.append((headers.get(b"content-type", b"").decode(), body))


async def ask(cluster, path, media_type, body):
    """What arrives behind the translator, and what it answered by itself."""
    caught, sent = Caught(), []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": path, "headers": [(b"content-type", media_type)]}
    await understand_kubectl(caught, cluster.objects)(scope, receive, send)
    return (caught.seen[0] if caught.seen else None), sent


async def test_a_strategic_patch_becomes_a_merge_patch_of_the_live_object(cluster):
    await cluster.node(taints=[{"key": "a", "effect": "NoSchedule"}])
    patch = {"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}}
    (kind, body), _ = await ask(cluster, NODE, STRATEGIC, orjson.dumps(patch))
    change = orjson.loads(body)
    live = await cluster.get("nodes", "gpu-0", "")
    assert kind == "application/merge-patch+json"
    assert change["spec"] == patch["spec"]
    assert change["metadata"] == {"resourceVersion": live["metadata"]["resourceVersion"]}


async def test_without_a_list_there_is_nothing_to_protect(cluster):
    await cluster.node()
    patch = b'{"spec":{"unschedulable":true}}'
    (_, body), _ = await ask(cluster, NODE, STRATEGIC, patch)
    assert orjson.loads(body) == orjson.loads(patch)


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'{"spec":{"$patch":"explode"}}', b'{"spec":1}'])
async def test_what_is_no_patch_is_for_the_server_to_refuse(cluster, body):
    await cluster.node()
    (kind, _), sent = await ask(cluster, NODE, STRATEGIC, body)
    assert kind == "application/merge-patch+json"
    assert not sent


async def test_our_own_kinds_are_patched_as_custom_resources_are(cluster):
    path = "/apis/ai.example.com/v1/namespaces/ml/inferencejobs/llama"
    assert (await ask(cluster, path, STRATEGIC, b"{}"))[0] == (STRATEGIC.decode(), b"{}")


@pytest.mark.parametrize("body", [b"noise", b"k8s\x00\xff", b"x" * (MAX_BODY + 1)], ids=len)
async def test_protobuf_that_is_not_understood_goes_on_as_it_is(cluster, body):
    assert (await ask(cluster, "/api/v1/namespaces", PROTOBUF, body))[0] == (PROTOBUF.decode(), body)


@pytest.mark.parametrize("what", ["log", "exec", "attach", "portforward"])
async def test_pods_have_no_output(cluster, what):
    seen, sent = await ask(cluster, f"/api/v1/namespaces/ml/pods/p/{what}", b"", b"")
    assert seen is None
    assert sent[0]["status"] == 400
    assert "simulated pods run nothing" in orjson.loads(sent[1]["body"])["message"]
