"""A placement that could not be written is tried again, whatever time its round has taken."""

from __future__ import annotations

import pytest
from fakecluster import Lab

from apiserver.machinery import errors
from apiserver.machinery.gvk import GroupResource


@pytest.mark.parametrize("seconds", [0.0, 0.04, 0.2, 2.0])
async def test_a_round_that_outlasts_the_pause_after_a_failure_is_followed_by_another(seconds) -> None:
    lab = Lab()
    lab.node("gpu-1")
    transact, failures = lab.objects.transact, [errors.conflict(GroupResource("", "x"), "y", "stale")]

    async def slow_and_failing_once(changes):
        if failures:
            await lab.clock.sleep(seconds)
            raise failures.pop()
        return await transact(changes)

    async with lab.running():
        lab.objects.transact = slow_and_failing_once
        lab.submit("job")
        await lab.run_kubelets(10)
        assert lab.status("job")["phase"] == "Ready"
