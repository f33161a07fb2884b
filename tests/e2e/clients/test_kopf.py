"""An operator in the Python framework for operators: it must see all that happens to our objects."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import jobs
from cluster.controlplane import ControlPlane
from cluster.process import Process
from cluster.rest import Rest
from cluster.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.usefixtures("ai_server"),
    pytest.mark.skipif(
        importlib.util.find_spec("kopf") is None and not os.environ.get("REQUIRE_E2E"),
        reason="no kopf: pip install -e '.[dev]'",
    ),
]
OPERATOR = Path(__file__).with_name("operator_of_kopf.py")
FINALIZER = "example.com/kopf-was-here"


class Operator:
    """The running operator, and what it has seen."""

    def __init__(self, process: Process, seen: Path) -> None:
        self.process = process
        self._seen = seen

    def saw(self, line: str) -> bool:
        """Whether the operator has noted this line."""
        assert self.process.running, self.process.tail()
        return line in self.lines

    @property
    def lines(self) -> list[str]:
        """All notes so far."""
        return self._seen.read_text().splitlines() if self._seen.exists() else []


@pytest.fixture
def operator(controlplane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Operator]:
    seen = tmp_path / "seen"
    flags = ["--standalone", f"--namespace={namespace}", "--verbose"]
    command = [sys.executable, "-m", "kopf", "run", *flags, str(OPERATOR)]
    env = {**os.environ, "KUBECONFIG": str(controlplane.kubeconfig), "SEEN": str(seen)}
    process = Process("kopf", command, tmp_path / "kopf.log", env)
    process.start()
    yield Operator(process, seen)
    process.kill()


def _annotations(rest: Rest, namespace: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = jobs.get(rest, namespace, name)["metadata"].get("annotations", {})
    return found


def test_an_operator_sees_jobs_come_change_and_go(rest: Rest, namespace: str, operator: Operator) -> None:
    path = jobs.path(namespace)
    rest.create(path, jobs.manifest("first", suspend=True))
    eventually("the creation is seen", lambda: operator.saw("create first"), 40)
    eventually(
        "it is annotated",
        lambda: _annotations(rest, namespace, "first").get("example.com/created") == "yes",
    )
    assert FINALIZER in jobs.get(rest, namespace, "first")["metadata"]["finalizers"]

    rest.create(path, jobs.manifest("second", suspend=True))
    eventually("one that comes by the watch is seen", lambda: operator.saw("create second"))
    rest.merge(jobs.path(namespace, "second"), {"spec": {"priority": 5}})
    eventually("the change is seen", lambda: operator.saw("update second 0->5"))
    eventually(
        "the timer runs",
        lambda: _annotations(rest, namespace, "second").get("example.com/ticks") == "3",
    )

    rest.delete(jobs.path(namespace, "second"))
    eventually("the deletion is handled", lambda: operator.saw("delete second"))
    eventually("the finalizer is taken off", lambda: not rest.exists(jobs.path(namespace, "second")))
    eventually("the end is seen", lambda: operator.saw("gone second"))
    assert rest.exists(jobs.path(namespace, "first"))
    notes = operator.lines
    assert sorted(notes) == sorted(set(notes)), "something was handled twice"


def test_a_job_waits_for_an_operator_that_is_away(rest: Rest, namespace: str, operator: Operator) -> None:
    one = jobs.path(namespace, "one")
    rest.create(jobs.path(namespace), jobs.manifest("one", suspend=True))
    eventually("the finalizer is set", lambda: FINALIZER in _finalizers(rest, one), 40)
    operator.process.stop()
    rest.delete(one)
    assert rest.get(one)["metadata"]["deletionTimestamp"]
    operator.process.start()
    eventually("it is handled after all", lambda: operator.saw("delete one"), 40)
    eventually("it is gone", lambda: not rest.exists(one))


def _finalizers(rest: Rest, path: str) -> list[str]:
    found: list[str] = rest.get(path)["metadata"].get("finalizers", [])
    return found
