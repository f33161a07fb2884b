"""The promise of the machinery: whoever declares a resource in thirty lines gets all the rest.

The toy below is everything its author writes. What follows asks for what a Kubernetes client asks for,
through the whole handler chain, with nothing but a store in memory behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import httpx
import orjson
import pytest
from pydantic import Field

from apiserver.admission.chain import AdmissionChain
from apiserver.auth.anonymous import AnonymousAuthenticator
from apiserver.auth.authorizer import local_authorizer
from apiserver.auth.static_token import StaticTokenAuthenticator
from apiserver.auth.union import UnionAuthenticator
from apiserver.endpoints.health import HealthChecks
from apiserver.machinery import field
from apiserver.machinery.model import APIModel, Int32, ListMap
from apiserver.machinery.resource import Resource, Scale, Version
from apiserver.machinery.strategy import Strategy
from apiserver.machinery.table import AGE, Column
from apiserver.registry.build import build_registry
from apiserver.server.application import build_application
from apiserver.server.chain import ChainConfig
from apiserver.server.lifecycle import Lifecycle
from storage.open import open_store

# --- the toy: all that its author writes ---------------------------------------------------------------


class Toast(APIModel):
    """One slice."""

    slot: Int32 = Field(description="Where the slice goes.")
    bread: str = Field(default="rye", description="What it is made of.")


class ToasterSpec(APIModel):
    """What to toast."""

    colour: str = Field(pattern="^[a-z]+$", description="Paint of the case.")
    slots: Int32 = Field(default=2, ge=1, le=8, description="How many slices fit.")
    toasts: Annotated[list[Toast], ListMap("slot")] | None = Field(default=None, description="The slices.")


class ToasterStatus(APIModel):
    """How the toaster is."""

    hot: Int32 | None = Field(default=None, description="Slots that are hot.")


class Toaster(APIModel):
    """Toasts bread."""

    spec: ToasterSpec = Field(description="What is wanted.")
    status: ToasterStatus | None = Field(default=None, description="What is the case.")


class ToasterStrategy(Strategy):
    """There is no slice without a slot."""

    def validate(self, obj: dict[str, Any]) -> list[field.FieldError]:
        toasts = obj["spec"].get("toasts") or []
        path = field.Path("spec").child("toasts")
        wrong = [(i, t["slot"]) for i, t in enumerate(toasts) if t["slot"] >= obj["spec"]["slots"]]
        return [
            field.invalid(path.index(i).child("slot"), slot, "there is no such slot") for i, slot in wrong
        ]


TOASTERS = Resource(
    group="kitchen.example.com",
    kind="Toaster",
    plural="toasters",
    versions=(
        Version("v1", Toaster, (Column("Colour", lambda o: o["spec"]["colour"], description="Paint."), AGE)),
    ),
    storage_version="v1",
    short_names=("tst",),
    categories=("all",),
    strategy=ToasterStrategy(),
    selectable_fields=("spec.colour",),
    scale=Scale(spec_replicas=".spec.slots", status_replicas=".status.hot"),
)

# --- and what that gives -------------------------------------------------------------------------------

Object = dict[str, Any]
GROUP = "/apis/kitchen.example.com"
ALL = f"{GROUP}/v1/toasters"
HERE = f"{GROUP}/v1/namespaces/home/toasters"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def toaster(name: str = "one", **spec: Any) -> Object:
    return {
        "apiVersion": "kitchen.example.com/v1",
        "kind": "Toaster",
        "metadata": {"name": name},
        "spec": {"colour": "red", **spec},
    }


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole application, as an administrator."""
    storage = await open_store("sqlite://:memory:")
    registry, cache = build_registry([TOASTERS], storage, "/registry", AdmissionChain([]))
    token = "t" * 43
    authenticator = UnionAuthenticator((StaticTokenAuthenticator(token),), anonymous=AnonymousAuthenticator())
    config = ChainConfig(authenticator, local_authorizer(), Lifecycle(), is_complete=lambda: cache.ready)
    application = build_application(registry, HealthChecks(), config)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        caching = tasks.create_task(cache.run())
        await cache.wait_ready()
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(application),
            base_url="https://server",
            headers={"Authorization": f"Bearer {token}", "User-Agent": "toy/1"},
        ) as opened:
            yield opened
        caching.cancel()
    await storage.close()


async def created(client: httpx.AsyncClient, *objects: Object) -> list[Object]:
    answers = [await client.post(HERE, json=obj) for obj in objects]
    assert [answer.status_code for answer in answers] == [201] * len(objects), answers[-1].text
    return [answer.json() for answer in answers]


async def patch(client: httpx.AsyncClient, path: str, body: Any, kind: str, **query: str) -> httpx.Response:
    headers = {"Content-Type": kind}
    return await client.patch(path, content=orjson.dumps(body), headers=headers, params=query)


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [item["metadata"]["name"] for item in answer.json()["items"]]


async def test_it_is_stored_with_defaults_and_what_the_server_sets(client: httpx.AsyncClient) -> None:
    [made] = await created(client, toaster())
    assert made["spec"] == {"colour": "red", "slots": 2}
    assert made["metadata"]["generation"] == 1
    assert made["metadata"]["managedFields"][0]["manager"] == "toy"
    assert (await client.get(f"{HERE}/one")).json() == made


async def test_it_is_changed_and_deleted(client: httpx.AsyncClient) -> None:
    [made] = await created(client, toaster())
    made["spec"]["slots"] = 4
    put = await client.put(f"{HERE}/one", json=made)
    assert put.json()["metadata"]["generation"] == 2
    stale = await client.put(f"{HERE}/one", json=made)
    assert (stale.status_code, stale.json()["reason"]) == (409, "Conflict")
    assert (await client.delete(f"{HERE}/one")).json()["status"] == "Success"
    assert (await client.get(f"{HERE}/one")).json()[
        "message"
    ] == 'toasters.kitchen.example.com "one" not found'


async def test_its_collection_can_be_deleted_by_a_selector(client: httpx.AsyncClient) -> None:
    await created(client, toaster("a"), toaster("b", colour="blue"))
    assert (await client.delete(HERE, params={"fieldSelector": "spec.colour=red"})).status_code == 200
    assert names(await client.get(ALL)) == ["b"]


async def test_its_schema_and_its_strategy_refuse_by_field(client: httpx.AsyncClient) -> None:
    wrong = await client.post(HERE, json=toaster(colour="Red", slots=9))
    assert wrong.status_code == 422
    assert {cause["field"] for cause in wrong.json()["details"]["causes"]} == {"spec.colour", "spec.slots"}
    nowhere = await client.post(HERE, json=toaster(toasts=[{"slot": 5}]))
    assert nowhere.json()["message"] == (
        'Toaster.kitchen.example.com "one" is invalid: '
        "spec.toasts[0].slot: Invalid value: 5: there is no such slot"
    )


async def test_unknown_fields_are_warned_of_or_refused(client: httpx.AsyncClient) -> None:
    warned = await client.post(HERE, json=toaster(lever=1))
    assert (warned.status_code, warned.headers["warning"]) == (201, '299 - "unknown field \\"spec.lever\\""')
    strict = await client.post(HERE, json=toaster("two", lever=1), params={"fieldValidation": "Strict"})
    assert strict.status_code == 400


async def test_it_is_discovered_in_all_forms(client: httpx.AsyncClient) -> None:
    assert (await client.get("/apis")).json()["groups"][0]["name"] == "kitchen.example.com"
    assert (await client.get(GROUP)).json()["preferredVersion"]["version"] == "v1"
    listed = (await client.get(f"{GROUP}/v1")).json()["resources"]
    assert {entry["name"] for entry in listed} == {"toasters", "toasters/status", "toasters/scale"}
    assert (listed[0]["shortNames"], listed[0]["categories"]) == (["tst"], ["all"])
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    document = (await client.get("/apis", headers={"Accept": aggregated})).json()
    [version] = document["items"][0]["versions"]
    assert version["resources"][0]["singularResource"] == "toaster"
    assert {sub["subresource"] for sub in version["resources"][0]["subresources"]} == {"status", "scale"}


async def test_it_is_described_in_openapi(client: httpx.AsyncClient) -> None:
    root = (await client.get("/openapi/v3")).json()["paths"]
    url = root["apis/kitchen.example.com/v1"]["serverRelativeURL"]
    v3, v2 = (await client.get(url)).json(), (await client.get("/openapi/v2")).json()
    for document, schemas in ((v3, v3["components"]["schemas"]), (v2, v2["definitions"])):
        [toaster_schema] = [
            schema
            for schema in schemas.values()
            if any(gvk["kind"] == "Toaster" for gvk in schema.get("x-kubernetes-group-version-kind", ()))
        ]
        toasts = toaster_schema["properties"]["spec"]["properties"]["toasts"]
        assert toasts["x-kubernetes-list-map-keys"] == ["slot"]
        assert toasts["description"] == "The slices."
        operations = document["paths"][f"{GROUP}/v1/namespaces/{{namespace}}/toasters/{{name}}"]
        assert operations["patch"]["x-kubernetes-group-version-kind"]["kind"] == "Toaster"


async def test_it_is_printed_as_a_table(client: httpx.AsyncClient) -> None:
    await created(client, toaster())
    table = (await client.get(HERE, headers={"Accept": TABLE})).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Colour", "Age"]
    [row] = table["rows"]
    assert row["cells"][:2] == ["one", "red"]
    assert row["object"]["kind"] == "PartialObjectMetadata"


async def test_its_metadata_can_be_listed_alone(client: httpx.AsyncClient) -> None:
    await created(client, toaster())
    partial = (await client.get(ALL, headers={"Accept": METADATA_ONLY})).json()
    assert partial["kind"] == "PartialObjectMetadataList"
    assert "spec" not in partial["items"][0]


async def test_it_is_selected_by_labels_and_by_its_own_field(client: httpx.AsyncClient) -> None:
    labelled = toaster("b", colour="blue")
    labelled["metadata"]["labels"] = {"room": "kitchen"}
    await created(client, toaster("a"), labelled)
    assert names(await client.get(ALL, params={"fieldSelector": "spec.colour=blue"})) == ["b"]
    assert names(await client.get(ALL, params={"labelSelector": "room notin (kitchen)"})) == ["a"]
    assert (await client.get(ALL, params={"fieldSelector": "spec.slots=2"})).status_code == 400


async def test_it_is_listed_page_by_page_at_one_revision(client: httpx.AsyncClient) -> None:
    await created(client, *(toaster(name) for name in "abc"))
    first = await client.get(ALL, params={"limit": "2"})
    assert names(first) == ["a", "b"]
    metadata = first.json()["metadata"]
    assert metadata["remainingItemCount"] == 1
    await created(client, toaster("d"))
    second = await client.get(ALL, params={"limit": "2", "continue": metadata["continue"]})
    assert names(second) == ["c"]
    assert second.json()["metadata"]["resourceVersion"] == metadata["resourceVersion"]


async def test_it_is_watched(client: httpx.AsyncClient) -> None:
    await created(client, toaster("a"))
    revision = (await client.get(ALL)).json()["metadata"]["resourceVersion"]

    async def change() -> None:
        await created(client, toaster("b"))
        await patch(client, f"{HERE}/b", {"spec": {"colour": "blue"}}, MERGE)
        await client.delete(f"{HERE}/a")

    # The transport gives an answer when it is complete, so the watch is told when to end.
    watch = {"watch": "true", "resourceVersion": revision, "timeoutSeconds": "1"}
    seen, _ = await asyncio.gather(client.get(ALL, params=watch), change())
    events = [orjson.loads(line) for line in seen.text.splitlines()]
    told = [(event["type"], event["object"]["metadata"]["name"]) for event in events]
    assert told == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]


async def test_a_watch_can_begin_with_everything(client: httpx.AsyncClient) -> None:
    await created(client, toaster("a"), toaster("b"))
    watch = {
        "watch": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "1",
    }
    events = [orjson.loads(line) for line in (await client.get(ALL, params=watch)).text.splitlines()]
    assert [event["type"] for event in events[:3]] == ["ADDED", "ADDED", "BOOKMARK"]
    assert events[2]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_appliers_share_its_list_item_by_item(client: httpx.AsyncClient) -> None:
    path = f"{HERE}/one"
    mine = toaster(toasts=[{"slot": 0}])
    assert (await patch(client, path, mine, APPLY, fieldManager="mine")).status_code == 201
    other: Object = toaster(toasts=[{"slot": 1, "bread": "white"}])
    del other["spec"]["colour"]
    both = await patch(client, path, other, APPLY, fieldManager="other")
    assert [toast["slot"] for toast in both.json()["spec"]["toasts"]] == [0, 1]
    other["spec"]["colour"] = "blue"
    refused = await patch(client, path, other, APPLY, fieldManager="other")
    assert refused.status_code == 409
    assert [cause["field"] for cause in refused.json()["details"]["causes"]] == [".spec.colour"]
    assert (await patch(client, path, other, APPLY, fieldManager="other", force="true")).status_code == 200
    given_up = await patch(client, path, {**toaster(), "spec": {}}, APPLY, fieldManager="mine")
    assert [toast["slot"] for toast in given_up.json()["spec"]["toasts"]] == [1]


async def test_its_status_is_a_door_of_its_own(client: httpx.AsyncClient) -> None:
    [made] = await created(client, {**toaster(), "status": {"hot": 7}})
    assert "status" not in made
    changed = await patch(client, f"{HERE}/one/status", {"spec": {"slots": 8}, "status": {"hot": 1}}, MERGE)
    assert (changed.json()["spec"]["slots"], changed.json()["status"]) == (2, {"hot": 1})
    assert changed.json()["metadata"]["generation"] == 1
    ignored = await patch(client, f"{HERE}/one", {"status": {"hot": 5}}, MERGE)
    assert ignored.json()["status"] == {"hot": 1}


async def test_it_is_scaled(client: httpx.AsyncClient) -> None:
    await created(client, toaster())
    await patch(client, f"{HERE}/one/status", {"status": {"hot": 1}}, MERGE)
    scale = (await client.get(f"{HERE}/one/scale")).json()
    assert (scale["kind"], scale["spec"], scale["status"]) == ("Scale", {"replicas": 2}, {"replicas": 1})
    scale["spec"]["replicas"] = 3
    assert (await client.put(f"{HERE}/one/scale", json=scale)).status_code == 200
    assert (await client.get(f"{HERE}/one")).json()["spec"]["slots"] == 3
    scale["spec"]["replicas"] = 99
    del scale["metadata"]["resourceVersion"]
    assert (await client.put(f"{HERE}/one/scale", json=scale)).status_code == 422


async def test_json_patches_are_taken_and_strategic_ones_are_not(client: httpx.AsyncClient) -> None:
    await created(client, toaster())
    steps = [
        {"op": "test", "path": "/spec/colour", "value": "red"},
        {"op": "add", "path": "/spec/slots", "value": 3},
    ]
    answer = await patch(client, f"{HERE}/one", steps, "application/json-patch+json")
    assert answer.json()["spec"]["slots"] == 3
    strategic = await patch(client, f"{HERE}/one", {}, "application/strategic-merge-patch+json")
    assert strategic.status_code == 415


async def test_dry_runs_and_generated_names_come_with_it(client: httpx.AsyncClient) -> None:
    body = toaster()
    body["metadata"] = {"generateName": "t-"}
    made = (await client.post(HERE, json=body, params={"dryRun": "All"})).json()
    assert made["metadata"]["name"].startswith("t-")
    assert names(await client.get(ALL)) == []


async def test_strangers_get_nothing(client: httpx.AsyncClient) -> None:
    del client.headers["Authorization"]
    refused = await client.get(ALL)
    assert refused.status_code == 403
    assert refused.json()["message"].startswith("toasters.kitchen.example.com is forbidden")
