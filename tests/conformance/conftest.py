"""Runs the table once, several rows at a time, and says at the end how many answers were the same."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster import kubectl
from cluster.controlplane import ControlPlane
from cluster.fixtures import PLANE_KEY, control_plane, installed_server
from cluster.kubectl import Kubectl
from cluster.rest import Rest
from cluster.waiting import eventually
from differential.case import Case
from differential.crd import custom_resource_definition
from differential.differences import expected
from differential.side import Side
from differential.verdict import Verdict, judge

from apiserver.apis.ai.resources import INFERENCE_JOBS

# As long as our group's name, so that columns of text line up.
THEIR_GROUP, OUR_GROUP, TWIN_GROUP = "cr.example.com", "ai.example.com", "cs.example.com"
ROWS_AT_ONCE = 6
# What our strategy gives a new job, so that `kubectl get` and selectors have a phase from the start.
INITIAL_STATUS = {"phase": "Pending"}
# Cells that a CRD cannot compute: it can only print what a JSON path leads to.
COMPUTED = frozenset({"Phase", "GPUs", "Ready", "Nodes", "Products", "Attempts"})
# Whether two CRDs are compared, which shows that the comparison itself finds nothing where nothing is.
TWINS = os.environ.get("CONFORMANCE_AGAINST") == "crd"
VERDICTS = pytest.StashKey[dict[str, Verdict]]()


def _define(rest: Rest, group: str) -> None:
    rest.create(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        custom_resource_definition(INFERENCE_JOBS, group),
    )
    for path in (f"/apis/{group}/v1/inferencejobs", f"/openapi/v3/apis/{group}/v1"):
        eventually(f"{path} served", lambda path=path: rest.exists(path), 30)


def _side(plane: ControlPlane, folder: pytest.TempPathFactory, group: str, **initial: str) -> Side:
    program = next(iter(kubectl.versions().values()))
    cache = folder.mktemp(f"kubectl-{group}")
    return Side(group, plane.rest, Kubectl(program, plane.kubeconfig, cache), COMPUTED, initial)


@pytest.fixture(scope="package")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane for this alone: the table leaves much behind, and another group with our short name.

    It has no controller manager, whose garbage collector would work off finalizers between two requests.
    """
    made = control_plane(tmp_path_factory.mktemp("conformance"))
    request.config.stash[PLANE_KEY] = made
    try:
        made.start(controllers=False)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="package")
def sides(
    request: pytest.FixtureRequest, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Side, Side]]:
    """The CRD and our server; with CONFORMANCE_AGAINST=crd a second CRD, to test the comparison itself."""
    _define(plane.rest, THEIR_GROUP)
    theirs = _side(plane, tmp_path_factory, THEIR_GROUP)
    if TWINS:
        _define(plane.rest, TWIN_GROUP)
        yield theirs, _side(plane, tmp_path_factory, TWIN_GROUP)
        return
    # Without the controllers: they would change our objects, and nobody touches those of a CRD.
    with installed_server(
        request.config, plane, tmp_path_factory.mktemp("bare"), "--controllers=-inferencejob,-gpunode"
    ):
        yield theirs, _side(plane, tmp_path_factory, OUR_GROUP, **INITIAL_STATUS)


def _judge(plane: ControlPlane, sides: tuple[Side, Side], case: Case) -> Verdict:
    namespace = f"c-{uuid.uuid4().hex[:10]}"
    plane.rest.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    with ThreadPoolExecutor(2) as pool:
        theirs, ours = pool.map(lambda side: side.run(case, namespace), sides)
    return judge(case.name, theirs, ours, () if TWINS else expected(case.name))


@pytest.fixture(scope="package")
def verdict_of(
    request: pytest.FixtureRequest, plane: ControlPlane, sides: tuple[Side, Side]
) -> Iterator[Callable[[Case], Verdict]]:
    """Gives the verdict of a case; all selected cases are run ahead, a few at a time."""
    selected = [item.callspec.params["case"] for item in request.session.items if _has_case(item)]
    verdicts = request.config.stash.setdefault(VERDICTS, {})
    with ThreadPoolExecutor(ROWS_AT_ONCE) as pool:
        running = {case.name: pool.submit(_judge, plane, sides, case) for case in selected}

        def verdict(case: Case) -> Verdict:
            if case.name not in running:
                running[case.name] = pool.submit(_judge, plane, sides, case)
            found = running[case.name].result(timeout=300)
            verdicts[case.name] = found
            return found

        yield verdict
        for future in running.values():
            future.cancel()


def _has_case(item: pytest.Item) -> bool:
    """Whether it is a row of our table; other tests may call a parameter of theirs `case` too."""
    return isinstance(getattr(getattr(item, "callspec", None), "params", {}).get("case"), Case)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The sum of the differential test in one line."""
    verdicts = config.stash.get(VERDICTS, {})
    if verdicts:
        alike = [verdict for verdict in verdicts.values() if not verdict.unexpected and not verdict.gone]
        listed = {difference for verdict in alike for difference in verdict.listed}
        terminalreporter.section("differential test")
        terminalreporter.write_line(
            f"{len(alike)} of {len(verdicts)} the same, {len(listed)} listed differences "
            f"in {sum(1 for verdict in alike if verdict.listed)} of them"
        )
