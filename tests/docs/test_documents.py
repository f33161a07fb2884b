"""What the documents say is what the code does, as far as a program can tell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml
from prometheus_client import REGISTRY

from apiserver.apis.ai.resources import RESOURCES
from apiserver.apis.ai.shared import Phase
from apiserver.controllers import metrics as controller_metrics
from apiserver.controllers.inferencejob import names
from apiserver.flags import Flag
from apiserver.observability import http_metrics
from apiserver.options import DEV_FLAGS, SERVE_FLAGS
from apiserver.registry import measured
from apiserver.registry.intake import take_in

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
METRICS = (controller_metrics, http_metrics, measured)


def text(name: str) -> str:
    return (ROOT / name).read_text()


def section(document: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text(document), re.MULTILINE | re.DOTALL)
    assert found, f"{document} has no section {title!r}"
    return found[1]


def first_cells(table: str) -> set[str]:
    return {
        name
        for line in table.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([^`]+)`", line.split("|")[1])
    }


def test_every_reason_is_documented_and_no_other():
    reasons = {value for name, value in vars(names.Reason).items() if name.isupper()}
    assert first_cells(section("docs/inferencejob.md", "Reasons")) == reasons


def test_every_condition_is_documented_and_no_other():
    types = {names.SCHEDULED, names.READY, names.DEGRADED, names.COMPLETE, names.FAILED}
    assert first_cells(section("docs/inferencejob.md", "Conditions")) == types


def test_every_phase_is_documented_and_no_other():
    assert first_cells(section("README.md", "The API")) == set(get_args(Phase))


def test_metrics_that_are_documented_exist():
    assert METRICS
    known = {name for metric in REGISTRY.collect() for name in (metric.name, f"{metric.name}_total")}
    told = first_cells(section("docs/operations.md", "Metrics"))
    assert told <= known, told - known


@pytest.mark.parametrize(
    ("document", "title", "groups"),
    [
        ("docs/operations.md", "Flags that matter", SERVE_FLAGS),
        ("docs/development.md", "`dev`: everything on one machine", DEV_FLAGS),
    ],
    ids=["serve", "dev"],
)
def test_flags_that_are_documented_exist(document, title, groups):
    flags = {flag.name for _, group in groups for flag in group if isinstance(flag, Flag)}
    told = set(
        re.findall(r"`--([a-z-]+)", text(document) if title.startswith("`") else section(document, title))
    )
    others = {"external-name", "cert-dir"} if document == "docs/operations.md" else {"data-dir"}
    assert told
    assert told - others <= flags, told - flags


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document}: {target}"


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "docs/adr/0003-watch-cache-with-cursors.md"])
def test_files_that_are_named_exist(document):
    known = {
        str(path.relative_to(ROOT))
        for folder in ("apiserver", "storage", "certs", "deploy", "tests")
        for path in (ROOT / folder).rglob("*")
        if "__pycache__" not in path.parts
    }
    for name in re.findall(r"`([a-z_/]+\.py)(?::[^`]*)?`", text(document)):
        assert any(path == name or path.endswith(f"/{name}") for path in known), name


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_examples_are_accepted_as_they_are(path):
    (jobs,) = [resource for resource in RESOURCES if resource.plural == "inferencejobs"]
    for obj in yaml.safe_load_all(path.read_text()):
        assert take_in(jobs, "v1", obj) == [], "no unknown fields"
        assert jobs.by_version["v1"].schema.validate(obj) == []
        assert jobs.strategy.validate(obj) == []
