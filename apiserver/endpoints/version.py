"""/version: which release this is, in the form of `k8s.io/apimachinery/pkg/version.Info`."""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from fastapi import APIRouter

from apiserver.endpoints.plain_answer import Answer, raw_json

_PACKAGE = "inference-apiserver"


def release() -> str:
    """The version of the installed package, such as `0.1.0`."""
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return "0.0.0"


@lru_cache(maxsize=1)
def version_info() -> dict[str, str]:
    """What /version answers, in Kubernetes' fields; commit and date come from the image's environment."""
    number = release()
    major, minor, *_ = [*number.split("."), "0"]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{number}",
        "gitCommit": os.environ.get("SOURCE_COMMIT", ""),
        "gitTreeState": "clean" if os.environ.get("SOURCE_COMMIT") else "",
        "buildDate": os.environ.get("BUILD_DATE", ""),
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{machine}",
    }


def router() -> APIRouter:
    """The route of the version."""
    routes = APIRouter()

    @routes.get("/version")
    async def get_version() -> Answer:
        return raw_json(version_info())

    return routes
