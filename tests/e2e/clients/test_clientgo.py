"""client-go, in which most of the Kubernetes world is written, against our group behind kube-apiserver.

The Go program beside this file says what it has seen; here it is said what that should be.
"""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cluster import jobs
from cluster.controlplane import ControlPlane
from cluster.rest import Rest
from cluster.server import AIServer
from cluster.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("ai_server")]

Facts = dict[str, Any]
Run = Callable[..., Facts]
# client-go checks by itself, with a list, that what came by a watch is complete; it panics if it is not.
CHECKED = {"KUBE_WATCHLIST_INCONSISTENCY_DETECTOR": "true", "KUBE_CACHE_MUTATION_DETECTOR": "true"}
JOBS = "inferencejobs"


def _reads(facts: Facts) -> list[str]:
    return [line for line in facts["requests"] if line.startswith("GET") and JOBS in line]


def _assert_followed(facts: Facts, namespace: str) -> None:
    assert facts["first"] == [f"{namespace}/a", f"{namespace}/b"]
    assert facts["last"] == [f"{namespace}/a", f"{namespace}/c"]
    assert not facts["failures"]
    assert sorted(facts["events"][:2]) == ["add a", "add b"]
    # A lost connection shows neither as an event twice nor as one that is missing.
    assert facts["events"][2:] == ["add c", "update a", "add d", "delete b", "delete d"]
    assert int(facts["resourceVersion"]) > 0


@pytest.mark.parametrize("scenario", ["dynamic-informer", "metadata-informer", "typed-informer"])
def test_an_informer_starts_by_a_watch_list_and_misses_nothing(
    clientgo: Run, namespace: str, scenario: str
) -> None:
    facts = clientgo(scenario, namespace)
    _assert_followed(facts, namespace)
    first = _reads(facts)[0]
    assert "sendInitialEvents=true" in first
    assert "resourceVersionMatch=NotOlderThan" in first
    assert not [line for line in _reads(facts) if "watch=true" not in line], "it fell back to a list"


def test_a_resumed_informer_neither_lists_nor_starts_over(clientgo: Run, namespace: str) -> None:
    reads = _reads(clientgo("dynamic-informer", namespace))
    assert len(reads) == 2
    assert "sendInitialEvents" not in reads[1]


def test_client_go_finds_a_watch_list_complete(clientgo: Run, namespace: str) -> None:
    # Of objects without a Go type alone: off others, client-go takes the kind if they come one by one.
    facts = clientgo("dynamic-informer", namespace, **CHECKED)
    _assert_followed(facts, namespace)
    assert [line for line in _reads(facts) if "watch=true" not in line], "the detector did not look"


def test_an_older_informer_lists_and_watches(clientgo: Run, namespace: str) -> None:
    facts = clientgo("legacy-informer", namespace, KUBE_FEATURE_WatchListClient="false")
    _assert_followed(facts, namespace)
    assert "watch=true" not in _reads(facts)[0]
    assert "sendInitialEvents" not in "".join(_reads(facts))


def test_a_metadata_informer_gets_metadata_alone(clientgo: Run, namespace: str) -> None:
    facts = clientgo("metadata-informer", namespace)
    # The client asks for protobuf first, and takes JSON.
    assert all("application/json" in line for line in _reads(facts))


def test_a_pager_gets_every_item_of_one_revision(clientgo: Run, namespace: str) -> None:
    facts = clientgo("pager", namespace)
    assert facts["names"] == ["a", "b", "c", "d", "e"]
    assert (facts["whole"], facts["paginated"]) == (6, True)
    assert facts["remaining"] == 2
    assert facts["selected"] == 1
    assert any("continue=" in line and "limit=2" in line for line in _reads(facts))


def test_server_side_apply_keeps_books_of_who_owns_what(clientgo: Run, namespace: str) -> None:
    facts = clientgo("apply", namespace)
    assert facts["unchanged"]
    assert facts["isConflict"]
    assert facts["causes"] == ["FieldManagerConflict .spec.priority"]
    assert (facts["forced"], facts["forcedProducts"]) == (2, ["x", "y"])
    # What the first manager no longer names goes, unless another one has it too.
    assert (facts["givenPriority"], facts["givenProducts"]) == (2, ["y"])
    assert facts["message"] == "applied"
    assert {"mine Apply ", "other Apply ", "other Apply status"} <= set(facts["managers"])


def test_a_manager_reads_back_what_it_owns_by_the_clusters_openapi(clientgo: Run, namespace: str) -> None:
    facts = clientgo("extract", namespace)
    assert facts["extracted"]["spec"] == {
        "image": "registry.example.com/vllm:0.9",
        "suspend": True,
        "priority": 7,
        "env": [{"name": "A", "value": "1"}],
    }
    assert "labels" not in facts["extracted"]["metadata"]
    assert (facts["priority"], facts["labels"], facts["generation"]) == (8, {"step": "foreign"}, 2)


def test_writers_that_retry_on_conflict_lose_nothing(clientgo: Run, namespace: str) -> None:
    facts = clientgo("retry-on-conflict", namespace)
    assert not facts["failures"]
    assert facts["counted"] == facts["wanted"]
    assert facts["generation"] == facts["wanted"] + 1


def test_patches_and_deletions_behave_as_for_a_custom_resource(clientgo: Run, namespace: str) -> None:
    facts = clientgo("patch-and-delete", namespace)
    assert facts["application/json-patch+json"] == 1
    assert facts["application/merge-patch+json"] == 2
    assert facts["application/strategic-merge-patch+json"] == "UnsupportedMediaType"
    assert facts["wrongUID"] == "Conflict"
    assert facts["terminating"]
    assert facts["moreFinalizers"] == "Invalid"
    assert facts["afterwards"] == "NotFound"


def test_a_collection_is_deleted_by_a_selector(clientgo: Run, namespace: str) -> None:
    assert clientgo("collection-deletion", namespace)["left"] == ["c"]


def test_a_retry_watcher_resumes_over_timeouts_and_cuts(clientgo: Run, namespace: str) -> None:
    facts = clientgo("retry-watcher", namespace)
    assert facts["events"] == [f"ADDED job-{index}" for index in range(6)]
    assert sum("watch=true" in line for line in facts["requests"]) > 1


def test_an_operator_of_controller_runtime_works_as_on_a_custom_resource(
    clientgo: Run, namespace: str
) -> None:
    facts = clientgo("operator", namespace)
    assert (facts["indexed"], facts["partial"], facts["owner"]) == (2, 2, jobs.KIND)
    assert facts["finalized"] == 1
    assert "operator Apply status" in facts["managers"]
    assert [line for line in _reads(facts) if "watch=true" in line]


def _forget_the_past(plane: ControlPlane) -> None:
    """Have etcd forget all revisions before this one, as happens every five minutes in real clusters."""
    made = plane.rest.create("/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "now-"}})
    body = json.dumps({"revision": made["metadata"]["resourceVersion"]}).encode()
    with urllib.request.urlopen(f"{plane.etcd_url}/v3/kv/compaction", body, timeout=10) as answer:
        assert answer.status == 200


def test_waiting_for_a_condition_ends_and_an_expired_watch_says_so(
    clientgo: Run, ai_server: AIServer, namespace: str
) -> None:
    _forget_the_past(ai_server.plane)
    ai_server.process.stop()
    ai_server.start()
    ai_server.wait_available()
    facts = clientgo("until", namespace)
    assert facts["last"] in ("ADDED", "MODIFIED")
    assert (facts["expiredType"], facts["expiredReason"]) == ("ERROR", "Expired")


def test_discovery_knows_the_group_in_both_forms(clientgo: Run, namespace: str) -> None:
    facts = clientgo("discovery", namespace)
    verbs = "create,delete,deletecollection,get,list,patch,update,watch"

    def told(name: str) -> set[str]:
        return {" ".join([*line.split()[:2], _sorted(line.split()[2])]) for line in facts[name]}

    for form in ("aggregated", "legacy"):
        assert told(form) == {
            f"ai.example.com/v1 inferencejobs {verbs}",
            "ai.example.com/v1 gpunodes get,list,watch",
        }, form
        assert {"ai.example.com/v1alpha1 inferencejobs/scale get,patch,update"} <= told(f"{form}All")
    assert told("aggregatedAll") == told("legacyAll")
    assert facts["stale"] == 0
    assert facts["inOneAnswer"]
    for typed, kind in {"ij": "InferenceJob", "inferencejobs": "InferenceJob", "gn": "GPUNode"}.items():
        assert facts[typed] == f"ai.example.com/v1, Kind={kind}"
    assert facts["scope"] == "namespace"
    assert facts["inAll"]


def _sorted(verbs: str) -> str:
    return ",".join(sorted(verbs.split(",")))


def test_kubectls_own_printer_prints_our_table(clientgo: Run, namespace: str) -> None:
    facts = clientgo("table", namespace)
    head, first, second = facts["plain"].splitlines()
    assert head.split() == ["NAME", "PHASE", "GPUS", "READY", "NODES", "AGE"]
    assert (first.split()[0], second.split()[0]) == ("a", "b")
    assert facts["wide"].splitlines()[0].split()[-4:] == ["IMAGE", "PRODUCTS", "ATTEMPTS", "MESSAGE"]
    assert facts["labels"].splitlines()[0].split()[0] == namespace
    assert facts["labels"].splitlines()[0].split()[-1] == "<none>"


def test_the_autoscalers_client_scales(clientgo: Run, namespace: str) -> None:
    facts = clientgo("scale", namespace)
    assert (facts["updated"], facts["stale"], facts["patched"]) == (3, "Conflict", 4)
    assert (facts["live"], facts["typed"]) == (4, 4)


def test_informers_survive_a_killed_server_and_a_restarted_aggregator(
    clientgo: Run, ai_server: AIServer, rest: Rest, namespace: str
) -> None:
    made = ["ready"]

    def create(name: str) -> None:
        manifest = jobs.manifest(name, suspend=True)
        answer = eventually(f"{name} is created", lambda: rest.create(jobs.path(namespace), manifest), 60)
        made.append(answer["metadata"]["name"])

    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(clientgo, "survive", namespace)
        eventually("the informers run", lambda: rest.exists(jobs.path(namespace, "ready")), 30)
        create("before")
        ai_server.process.kill()
        # What the informers have seen last is no longer known when the server comes back.
        _forget_the_past(ai_server.plane)
        ai_server.start()
        create("after-a-kill")
        rest.delete(jobs.path(namespace, "before"))
        ai_server.plane.kube_apiserver.stop()
        ai_server.plane.start_kube_apiserver()
        create("after-a-restart")
        create("stop")
        facts = running.result()
    ai_server.wait_available()
    for informer in ("typed", "dynamic", "metadata"):
        wanted = Counter([*(f"add {name}" for name in made), "delete before"])
        assert Counter(facts[informer]) == wanted, informer
