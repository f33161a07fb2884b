"""The programs that stand for the world's clients, and the cluster that all tests here talk to."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cluster.controlplane import ControlPlane
from cluster.fixtures import required

BUILD = Path(__file__).with_name("build.py")
COMMAND = "python tests/e2e/clients/build.py"
SECONDS = 110


def _build_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("clients_build", BUILD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _program(name: str) -> Path:
    """The program, built if the run demands it. Without it the test is skipped, or fails if required."""
    script = _build_script()
    program = getattr(script, name)()
    if os.access(program.path, os.X_OK):
        return Path(program.path)
    if not required():
        pytest.skip(f"{program.name} is not built: run `{COMMAND}`")
    try:
        return Path(script.build(program))
    except FileNotFoundError:
        pytest.fail(f"{program.name} needs Go 1.26: install it and run `{COMMAND}`", pytrace=False)
    except subprocess.CalledProcessError as error:
        pytest.fail(f"{program.name} does not compile:\n{error.stderr}", pytrace=False)


@pytest.fixture(scope="session")
def clientgo(controlplane: ControlPlane) -> Callable[..., dict[str, Any]]:
    """Runs one scenario of the Go program in a namespace and gives what it has seen."""
    program = _program("client_go")

    def run(scenario: str, namespace: str, **env: str) -> dict[str, Any]:
        command = [
            str(program),
            f"--kubeconfig={controlplane.kubeconfig}",
            f"--namespace={namespace}",
            scenario,
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, env={**os.environ, **env}
        )
        assert done.returncode == 0, f"{scenario}: {done.stderr[-6000:]}"
        facts: dict[str, Any] = json.loads(done.stdout)
        facts["log"] = done.stderr
        return facts

    return run


@pytest.fixture(scope="session")
def helm(controlplane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs Helm against the cluster and gives what it printed."""
    given = os.environ.get("HELM") or shutil.which("helm")
    program = Path(given) if given else _program("helm")
    home = tmp_path_factory.mktemp("helm")
    env = {**os.environ, "KUBECONFIG": str(controlplane.kubeconfig), "HELM_CACHE_HOME": str(home / "cache")}
    env |= {"HELM_CONFIG_HOME": str(home / "config"), "HELM_DATA_HOME": str(home / "data")}

    def run(*args: str) -> str:
        done = subprocess.run(
            [str(program), *args], capture_output=True, text=True, timeout=SECONDS, check=False, env=env
        )
        assert done.returncode == 0, f"helm {' '.join(args)}: {done.stderr}{done.stdout}"
        return done.stdout + done.stderr

    return run
