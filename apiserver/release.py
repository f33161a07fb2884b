"""Which release this is. Imports nothing heavy: `inference-apiserver version` must answer at once."""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

_PACKAGE = "inference-apiserver"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@lru_cache(maxsize=1)
def release() -> str:
    """The version of the installed package, such as `0.1.0`."""
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return "0.0.0"


@lru_cache(maxsize=1)
def version_info() -> dict[str, str]:
    """The fields of `k8s.io/apimachinery/pkg/version.Info`; an image's environment has commit and date."""
    number = release()
    major, minor, *_ = [*number.split("."), "0"]
    commit = os.environ.get("SOURCE_COMMIT", "")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{number}",
        "gitCommit": commit,
        "gitTreeState": "clean" if commit else "",
        "buildDate": os.environ.get("BUILD_DATE", ""),
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_MACHINES.get(platform.machine(), platform.machine())}",
    }
