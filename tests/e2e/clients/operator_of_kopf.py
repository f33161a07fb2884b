"""An operator as people write them with kopf; the test beside it runs it as a process of its own.

It notes what it sees in annotations of the job, and in a file what outlives the job.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import kopf

JOBS = "inferencejobs.ai.example.com"
SEEN = Path(os.environ["SEEN"])


def _note(line: str) -> None:
    with SEEN.open("a") as file:
        file.write(line + "\n")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Quick enough for a test; progress in annotations, since our status takes declared fields alone."""
    settings.persistence.finalizer = "example.com/kopf-was-here"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="kopf.example.com")
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix="kopf.example.com")
    settings.posting.enabled = False


@kopf.on.login()
def login(**kwargs: Any) -> Any:
    """By the kubeconfig."""
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.create(JOBS)
def created(name: str, patch: kopf.Patch, **_: Any) -> None:
    """Every job is seen once."""
    _note(f"create {name}")
    patch.metadata.annotations["example.com/created"] = "yes"


@kopf.on.update(JOBS, field="spec.priority")
def changed(name: str, old: Any, new: Any, patch: kopf.Patch, **_: Any) -> None:
    """Only changes of the field, with what was there before."""
    _note(f"update {name} {old}->{new}")
    patch.metadata.annotations["example.com/changed"] = f"{old}->{new}"


@kopf.on.delete(JOBS)
def deleted(name: str, **_: Any) -> None:
    """Holds the job by a finalizer until this has run."""
    _note(f"delete {name}")


@kopf.timer(JOBS, interval=0.5)
def ticked(annotations: kopf.Annotations, patch: kopf.Patch, **_: Any) -> None:
    """Counts to three."""
    ticks = int(annotations.get("example.com/ticks", "0"))
    if ticks < 3:
        patch.metadata.annotations["example.com/ticks"] = str(ticks + 1)


@kopf.on.event(JOBS)
def heard(name: str, event: Any, **_: Any) -> None:
    """Raw events, as they come from the watch."""
    if event["type"] == "DELETED":
        _note(f"gone {name}")
