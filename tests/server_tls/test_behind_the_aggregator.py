"""The TLS server and the authenticators behind a real kube-apiserver, which speaks for its users."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import httpx
import orjson
import pytest
from cluster.controlplane import USER_TOKEN, ControlPlane

from apiserver.auth import impersonation, requestheader
from apiserver.auth.authorizer import Attributes, require
from apiserver.auth.configmap import LiveConfig
from apiserver.auth.configmap_watch import ConfigMapWatcher
from apiserver.auth.delegated import delegated_authenticator, delegated_authorizer
from apiserver.auth.request import Credentials
from apiserver.auth.user import UserInfo
from apiserver.host.apiservice import BundlePublisher
from apiserver.host.client import HostClient
from apiserver.host.errors import HostUnreachable
from apiserver.machinery.errors import APIError
from apiserver.server.protocol import peer_certificates
from apiserver.server.tls import ServerTLS
from certs import CertDirectory, Names, Policy, Rotator
from certs.bundle import join, split
from certs.runner import utc_now
from certs.source import Source

from .conftest import Running, serving

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["uvloop"])]

GROUP, NAMESPACE, SERVICE = "whoami.test.example.com", "default", "whoami"
ROOT = f"/apis/{GROUP}/v1"
API_SERVICE = f"/apis/apiregistration.k8s.io/v1/apiservices/v1.{GROUP}"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"


@dataclass(frozen=True)
class Aggregated:
    """A server of ours behind kube-apiserver."""

    plane: ControlPlane
    host: HostClient
    running: Running
    live: LiveConfig
    source: Source
    trusted: bytes

    def through_cluster(self, token: str = "", pair=None) -> httpx.AsyncClient:
        """A client of kube-apiserver."""
        context = ssl.create_default_context(cafile=str(self.plane.keys.server_ca))
        return self._client(context, f"https://127.0.0.1:{self.plane.port}", token, pair)

    def direct(self, token: str = "", pair=None) -> httpx.AsyncClient:
        """A client of our server."""
        context = ssl.create_default_context(cadata=self.trusted.decode())
        return self._client(context, self.running.url, token, pair)

    def _client(self, context, url, token, pair) -> httpx.AsyncClient:
        if pair is not None:
            context.load_cert_chain(pair.cert, pair.key)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(verify=context, base_url=url, headers=headers, timeout=20)


def application(authenticator, authorizer):
    """Says who asks; impersonation as in the real chain, authorization is not asked for."""

    async def answer(scope):
        if scope["path"] == ROOT:
            return 200, {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{GROUP}/v1",
                "resources": [],
            }
        if scope["path"] != f"{ROOT}/whoami":
            return 404, {}
        leaf, others = peer_certificates(scope)
        try:
            user = await authenticator.authenticate(Credentials(scope["headers"], leaf, (), others))
            user = await impersonation.impersonate(scope["headers"], user, authorizer)
        except APIError as error:
            return error.code, error.status()
        left = [key.decode() for key, _ in requestheader.strip(scope["headers"])]
        extra = {key: list(values) for key, values in user.extra.items()}
        return 200, {
            "name": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": extra,
            "left": left,
        }

    async def app(scope, receive, send) -> None:
        status, body = await answer(scope)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": orjson.dumps(body)})

    return app


@pytest.fixture
async def aggregated(controlplane: ControlPlane, tmp_path) -> AsyncIterator[Aggregated]:
    """Registered and Available; gone afterwards. Its authority is due for rotation."""
    host = await HostClient.from_kubeconfig(str(controlplane.kubeconfig))
    live = LiveConfig()
    await ConfigMapWatcher(host, live, unreachable=(HostUnreachable,)).read()
    names = Names(SERVICE, NAMESPACE)
    policy = Policy(authority_lifetime=timedelta(days=60), serving_lifetime=timedelta(days=90))
    source = CertDirectory(tmp_path / "certs", policy=policy).bound(names)
    material = await source.load(utc_now() - timedelta(days=41))
    tls = ServerTLS(material.cert_pem, material.key_pem, live.current.authorities())
    authenticator = delegated_authenticator(live, host, anonymous=True, unreachable=(HostUnreachable,))
    authorizer = delegated_authorizer(host, (), unreachable=(HostUnreachable,))
    async with serving(application(authenticator, authorizer), tls) as running:
        await register(host, running.port, material.ca_bundle_pem)
        await open_to_all(host)
        yield Aggregated(controlplane, host, running, live, source, material.ca_bundle_pem)
        for path in (f"{RBAC}/clusterroles/whoami", f"{RBAC}/clusterrolebindings/whoami", API_SERVICE):
            await host.delete(path)
        await host.delete(f"{SERVICES}/{SERVICE}")
    await host.close()


async def register(host: HostClient, port: int, bundle: bytes) -> None:
    await host.create(
        SERVICES,
        {"metadata": {"name": SERVICE}, "spec": {"type": "ExternalName", "externalName": "localhost"}},
    )
    spec = {
        "group": GROUP,
        "version": "v1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 10,
        "caBundle": base64.b64encode(bundle).decode(),
        "service": {"namespace": NAMESPACE, "name": SERVICE, "port": port},
    }
    await host.create(API_SERVICE.rpartition("/")[0], {"metadata": {"name": f"v1.{GROUP}"}, "spec": spec})
    async with asyncio.timeout(30):
        while not is_available(await host.get(API_SERVICE)):
            await asyncio.sleep(0.1)


async def open_to_all(host: HostClient) -> None:
    """kube-apiserver authorizes what it proxies as well."""
    rules = [{"apiGroups": [GROUP], "resources": ["whoami"], "verbs": ["list"]}]
    await host.create(f"{RBAC}/clusterroles", {"metadata": {"name": "whoami"}, "rules": rules})
    group = {"kind": "Group", "name": "system:authenticated", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "whoami", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "whoami"}, "subjects": [group], "roleRef": role}
    await host.create(f"{RBAC}/clusterrolebindings", binding)
    attributes = Attributes(
        UserInfo("x", groups=("system:authenticated",)), "list", group=GROUP, resource="whoami"
    )
    await until_allowed(host, attributes)


async def until_allowed(host: HostClient, attributes: Attributes) -> None:
    """Until the rule has reached the cluster's authorizer."""
    async with asyncio.timeout(10):
        allowed = False
        while not allowed:
            fresh = delegated_authorizer(host, (), unreachable=(HostUnreachable,))
            allowed = (await fresh.authorize(attributes)).allowed
            await asyncio.sleep(0.05)


def is_available(api_service) -> bool:
    conditions = (api_service.get("status") or {}).get("conditions") or []
    return any(item["type"] == "Available" and item["status"] == "True" for item in conditions)


async def test_kube_apiserver_speaks_for_its_users(aggregated):
    async with aggregated.through_cluster(USER_TOKEN) as client:
        user = (await client.get(f"{ROOT}/whoami")).json()
    assert (user["name"], user["groups"]) == ("alice", ["system:authenticated"])
    assert not any(key.startswith("x-remote-") or key == "authorization" for key in user["left"])


async def test_whom_an_administrator_impersonates_arrives_with_all_parts(aggregated):
    headers = [
        ("Impersonate-User", "jürgen"),
        ("Impersonate-Group", "devs"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-Acme.com%2FScope", "a"),
        ("Impersonate-Extra-Acme.com%2FScope", "b"),
    ]
    encoded = [(key, value.encode()) for key, value in headers]
    both = []
    for connect in (aggregated.through_cluster, aggregated.direct):
        async with connect(pair=aggregated.plane.keys.admin) as client:
            both.append((await client.get(f"{ROOT}/whoami", headers=encoded)).json())
    for user in both:
        assert user["name"] == "jürgen"
        assert user["groups"] == ["devs", "ops", "system:authenticated"]
        assert user["extra"] == {"acme.com/scope": ["a", "b"]}


async def test_forged_headers_do_not_pass_directly(aggregated):
    forged = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}
    async with aggregated.direct() as client:
        assert (await client.get(f"{ROOT}/whoami", headers=forged)).json()["name"] == "system:anonymous"
    async with aggregated.direct(pair=aggregated.plane.keys.user) as client:
        user = (await client.get(f"{ROOT}/whoami", headers=forged)).json()
    assert (user["name"], user["groups"]) == ("bob", ["system:authenticated"])


async def test_tokens_are_reviewed_by_the_cluster(aggregated):
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    await aggregated.host.create(path, {"metadata": {"name": "caller"}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = (await aggregated.host.create(f"{path}/caller/token", request))["status"]["token"]
    async with aggregated.direct(token) as client:
        user = (await client.get(f"{ROOT}/whoami")).json()
    await aggregated.host.delete(f"{path}/caller")
    assert user["name"] == "system:serviceaccount:default:caller"
    assert "system:serviceaccounts:default" in user["groups"]
    async with aggregated.direct("nonsense") as client:
        assert (await client.get(f"{ROOT}/whoami")).status_code == 401


async def test_access_is_reviewed_by_the_cluster(aggregated):
    authorizer = delegated_authorizer(aggregated.host, (), unreachable=(HostUnreachable,))
    base = f"{RBAC}/namespaces/default"
    rules = [
        {"apiGroups": [GROUP], "resources": ["things/status"], "verbs": ["get"], "resourceNames": ["one"]}
    ]
    await aggregated.host.create(f"{base}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    subject = {"kind": "User", "name": "carol", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "reader"}, "subjects": [subject], "roleRef": role}
    await aggregated.host.create(f"{base}/rolebindings", binding)
    wanted = {
        "group": GROUP,
        "version": "v1",
        "resource": "things",
        "subresource": "status",
        "namespace": "default",
    }
    carol = UserInfo("carol")
    await until_allowed(aggregated.host, Attributes(carol, "get", name="one", **wanted))
    with pytest.raises(APIError) as failure:
        await require(authorizer, Attributes(carol, "get", name="two", **wanted))
    assert str(failure.value).startswith(
        f'things.{GROUP} "two" is forbidden: User "carol" cannot get resource "things/status"'
    )


async def test_a_change_of_the_trusted_authorities_is_followed_live(aggregated):
    live = LiveConfig()
    watcher = ConfigMapWatcher(aggregated.host, live, unreachable=(HostUnreachable,))
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    before = (await aggregated.host.get(path))["data"]
    changed = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watcher.run())
        async with asyncio.timeout(20):
            while not live.synced:
                await asyncio.sleep(0.01)
            live.on_change(lambda _config: changed.set())
            names = {"requestheader-allowed-names": '["front-proxy-client","another"]'}
            await aggregated.host.patch(path, {"data": names})
            await changed.wait()
        assert live.request_header().allowed_names == ("front-proxy-client", "another")
        await aggregated.host.patch(path, {"data": before})
        task.cancel()


async def test_no_request_fails_while_the_authority_rotates_behind_the_aggregator(aggregated):
    tls, host = aggregated.running.tls, aggregated.host
    first = await aggregated.source.load(utc_now() - timedelta(days=41))

    async def apply(material) -> None:
        tls.set_certificate(material.cert_pem, material.key_pem)

    publisher = BundlePublisher(host, (f"v1.{GROUP}",), (NAMESPACE, SERVICE))
    rotator = Rotator(aggregated.source, first, apply=apply, publish=publisher.publish)
    codes: list[int] = []
    done = asyncio.Event()

    async def work(client: httpx.AsyncClient) -> None:
        while not done.is_set():
            codes.append((await client.get(f"{ROOT}/whoami")).status_code)

    async def more(count: int) -> None:
        goal = len(codes) + count
        async with asyncio.timeout(60):
            while len(codes) < goal:
                await asyncio.sleep(0.01)

    async with aggregated.through_cluster(USER_TOKEN) as client, asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(work(client))
        await more(100)
        assert await rotator.step()  # the bundle of both is published; kube-apiserver connects anew
        assert rotator.material.cert_pem == first.cert_pem
        await more(200)
        assert await rotator.step()  # the new authority's certificate is shown
        assert rotator.material.cert_pem != first.cert_pem
        await more(100)
        bundle = base64.b64decode((await host.get(API_SERVICE))["spec"]["caBundle"])
        assert len(split(bundle)) == 2
        # Without the predecessor kube-apiserver connects anew once more, and finds the new certificate.
        await publisher.publish(join(split(bundle)[:1]))
        await more(200)
        done.set()
    assert set(codes) == {200}
