"""Runs the load generator against a peer, and notes what the peer's process spent on it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cluster.controlplane import ADMIN_TOKEN

from benchmarks.build import LOAD, build
from benchmarks.peers import Peer

SECONDS = 300


@dataclass(frozen=True)
class Measured:
    """One run. Rates are per second, times in milliseconds; `cpu` is milliseconds of the server a request."""

    rate: float
    p50: float
    p99: float
    cpu: float
    bytes: int
    requests: int
    seconds: float
    missed: int = 0
    """Events that watchers did not see, because the server cut them off as too slow."""


class LoadError(Exception):
    """Requests failed: the figures would mean nothing."""


def requests(
    peer: Peer,
    method: str,
    path: str,
    *,
    count: int,
    connections: int,
    create: bool = False,
    prefix: str = "o-",
    modulo: int = 0,
) -> Measured:
    """Send `count` requests in a closed loop; `{name}` in the path is a name."""
    flags = [f"-method={method}", f"-n={count}", f"-c={connections}", f"-prefix={prefix}"]
    return _run(peer, "requests", path, [*flags, f"-modulo={modulo}"], create)


def fan_out(
    peer: Peer,
    path: str,
    *,
    watchers: int,
    creates: int,
    connections: int,
    prefix: str,
    rate: float = 0,
) -> Measured:
    """Let watchers see creates; requests are deliveries."""
    version = peer.rest.get(f"{path}?limit=1")["metadata"]["resourceVersion"]
    watch = f"{path}?watch=true&resourceVersion={version}"
    flags = [f"-watchers={watchers}", f"-watch-path={watch}", "-method=POST", f"-rate={rate}"]
    flags += [f"-n={creates}", f"-c={connections}", f"-prefix={prefix}"]
    return _run(peer, "watch", path, flags, create=True)


def _run(peer: Peer, mode: str, path: str, flags: Sequence[str], create: bool) -> Measured:
    command = [str(build(LOAD)), mode, f"-address=localhost:{peer.port}", f"-ca={peer.ca}", f"-path={path}"]
    command += [f"-token={ADMIN_TOKEN}", *flags]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as body:
        if create:
            json.dump(peer.manifest(), body)
            body.flush()
            command.append(f"-body={body.name}")
        before = peer.cpu()
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        spent = peer.cpu() - before
    if done.returncode:
        raise LoadError(f"{peer.name}: {done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    failed = result["creates"]["errors"] if mode == "watch" else result["errors"]
    if failed:
        raise LoadError(f"{peer.name} {path}: {result} {done.stderr[-1000:]}")
    count = result["deliveries"] if mode == "watch" else result["requests"]
    size = result["creates"]["bytes"] if mode == "watch" else result["bytes"]
    return Measured(
        result["rate"],
        result["p50"],
        result["p99"],
        1000 * spent / max(count, 1),
        size,
        count,
        result["seconds"],
        missed=result["errors"],
    )
