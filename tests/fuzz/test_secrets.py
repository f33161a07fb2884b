"""Keys and tokens are for their owner alone: on disk, and never in a log, however much is logged."""

from __future__ import annotations

import os

import httpx

from .devserver import API, job, running

PRIVATE = 0o077


async def test_dev_keeps_its_secrets(tmp_path):
    before = os.umask(0o000)  # the most careless user
    try:
        async with running(tmp_path, "-v=10") as (server, client):
            assert (await client.post(f"{API}/default/inferencejobs", json=job("a"))).status_code == 201
            wrong = {"authorization": f"Bearer {server.token}x"}
            assert (await client.get("/version", headers=wrong)).status_code == 401
            async with httpx.AsyncClient(verify=server.context) as stranger:
                assert (await stranger.get(f"{server.url}/metrics")).status_code == 403
                assert (await stranger.get(f"{server.url}/livez?verbose")).status_code == 200
            paths = [server.data, *server.data.rglob("*")]
            secrets = [
                server.token,
                *(path.read_text().splitlines()[1] for path in server.data.rglob("*.key")),
            ]
    finally:
        os.umask(before)
    assert len(paths) > 5
    assert [path for path in paths if path.exists() and path.stat().st_mode & PRIVATE] == []
    log = server.process.log.read_text()
    assert "HTTP" in log
    assert len(secrets) >= 3
    assert [secret for secret in secrets if secret in log] == []
