"""Finds the programs of the control plane; what builds them is `controlplane/build.py`."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

BUILD_SCRIPT = Path(__file__).resolve().parents[2] / "controlplane" / "build.py"
MISSING = "no control plane on this machine: run `make controlplane`"


@cache
def find() -> Path | None:
    """The folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler, or None."""
    spec = importlib.util.spec_from_file_location("controlplane_build", BUILD_SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Path | None = module.find()
    return found
