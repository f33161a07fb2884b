"""Where trust comes from when the server starts: flags, the cluster, or both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from apiserver.auth.configmap import LiveConfig
from apiserver.config import AuthConfig, RequestHeaderOverrides
from apiserver.host.errors import HostUnreachable
from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource
from apiserver.trust import follow, given


class Cluster:
    """Publishes a client authority, or fails."""

    def __init__(self, fault: Exception | None = None, client_ca: bytes = b"") -> None:
        self._fault = fault
        self._data = {"client-ca-file": client_ca.decode()}
        self.asked = 0

    async def get(self, path: str, *, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        self.asked += 1
        if self._fault is not None:
            raise self._fault
        return {"metadata": {"resourceVersion": "1"}, "items": [{"data": self._data}]}

    async def watch(
        self, path: str, *, query: Mapping[str, str] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        raise AssertionError("nothing is followed before the server runs")
        yield {}


FAULTS = [
    HostUnreachable("no route"),
    errors.forbidden(GroupResource("", "configmaps"), "", "not you"),
    TimeoutError(),
]


async def test_what_the_cluster_publishes_is_trusted_before_the_first_request(client_ca) -> None:
    live = LiveConfig()
    (following,) = await follow(live, Cluster(client_ca=client_ca.pem), AuthConfig())
    following.close()
    assert live.client_ca().strip() == client_ca.pem.strip()


async def test_the_cluster_is_not_asked_when_the_flags_say_so() -> None:
    cluster = Cluster()
    assert await follow(LiveConfig(), cluster, AuthConfig(skip_lookup=True)) == []
    assert cluster.asked == 0


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_nothing_starts_while_the_cluster_does_not_say_whom_to_trust(fault: Exception) -> None:
    with pytest.raises(RuntimeError, match="kube-system/extension-apiserver-authentication"):
        await follow(LiveConfig(), Cluster(fault), AuthConfig())


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_a_failure_that_the_flags_tolerate_is_tried_again_while_serving(fault: Exception) -> None:
    auth = AuthConfig(tolerate_lookup_failure=True)
    (following,) = await follow(LiveConfig(), Cluster(fault), auth)
    following.close()


def test_the_flags_name_files_and_headers(tmp_path: Path) -> None:
    (tmp_path / "clients").write_text("clients")
    (tmp_path / "proxies").write_text("proxies")
    header = RequestHeaderOverrides(
        client_ca_file=tmp_path / "proxies",
        allowed_names=("front",),
        username_headers=("X-User",),
        group_headers=("X-Group",),
        uid_headers=("X-Uid",),
        extra_headers_prefixes=("X-Extra-",),
    )
    found = given(AuthConfig(client_ca_file=tmp_path / "clients", request_header=header))
    assert found.client_ca == b"clients"
    proxy = found.request_header
    assert (proxy.ca, proxy.allowed_names, proxy.extra_prefixes) == (b"proxies", ("front",), ("X-Extra-",))
    assert (proxy.username_headers, proxy.group_headers, proxy.uid_headers) == (
        ("X-User",),
        ("X-Group",),
        ("X-Uid",),
    )


def test_a_file_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        given(AuthConfig(client_ca_file=tmp_path / "missing"))
