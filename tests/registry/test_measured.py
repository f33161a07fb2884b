"""What storage is asked for is counted and timed, by operation."""

from __future__ import annotations

from typing import Any

from prometheus_client import REGISTRY


def asked(operation: str) -> float:
    return REGISTRY.get_sample_value("etcd_requests_total", {"operation": operation}) or 0.0


async def test_each_operation_is_counted_under_its_name(world: Any) -> None:
    before = {name: asked(name) for name in ("create", "update", "delete")}
    created = (await world.create(world.job())).obj
    created["spec"]["priority"] = 1
    await world.update(created)
    await world.delete()
    assert {name: asked(name) - count for name, count in before.items()} == {
        "create": 1,
        "update": 1,
        "delete": 1,
    }
    assert REGISTRY.get_sample_value("etcd_request_duration_seconds_count", {"operation": "create"})
