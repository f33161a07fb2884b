"""Step: a job that waits for GPUs tells where it stands. The placing itself is done by the `scheduler`."""

from __future__ import annotations

from typing import Any

from apiserver.controllers.conditions import find
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.finalize import let_go
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.release import give_back, without_place
from apiserver.controllers.inferencejob.world import Turn


async def wait_for_place(turn: Turn) -> bool:
    """True if no replica has a place: no other step is for the job."""
    strays = set(without_place(turn))
    if strays:
        # Left over from an earlier placement: a pod made by a leader that was slow to notice, or a status
        # that somebody edited. The ledger is the truth; what the status does not claim is given back.
        await give_back(turn, strays, keep_ended=False)
    missing = turn.view.missing
    if not missing:
        return False
    if turn.view.blocked:
        turn.draft.set(phase="Degraded", queuePosition=None)
        await turn.write_status()
        await let_go(turn)
        return True
    _tell(turn, healing=turn.view.holding)
    if turn.view.holding:
        return False
    await _write(turn)
    await let_go(turn)
    return True


def _tell(turn: Turn, *, healing: bool) -> None:
    report = turn.world.scheduler.reports.get(turn.view.key)
    if report is None:
        # Its first round is still to come, and will place it or say why not: nothing is worth a write before.
        return
    old = find(turn.view.conditions, names.SCHEDULED) or {}
    degraded = find(turn.view.conditions, names.DEGRADED) or {}
    if healing:
        turn.draft.condition(names.SCHEDULED, "False", Reason.HEALING, report.message)
        turn.draft.set(message=report.message, queuePosition=report.position)
        return
    turn.draft.not_placed(report.reason, report.message)
    if degraded.get("reason") == Reason.REPLICA_LOST:
        # The gang has been released whole: it waits like a new one.
        turn.draft.condition(names.DEGRADED, "False", Reason.HEALTHY, "")
    turn.draft.set(phase="Pending", queuePosition=report.position, readyReplicas=0)
    if old.get("reason") != report.reason:
        turn.event("Warning", report.reason, report.message)


async def _write(turn: Turn) -> None:
    """Write, but not too often for no more than another place in the queue."""
    if not turn.draft.changed:
        return
    now = turn.world.clock.monotonic()
    last = turn.world.reported.get(turn.view.key)
    waited = now - last if last is not None else None
    news = _reason(turn.view.conditions) != _reason(turn.draft.get("conditions"))
    interval = turn.world.scheduler.reports.interval
    if not news and waited is not None and waited < interval:
        turn.soon(interval - waited)
        return
    turn.world.reported[turn.view.key] = now
    await turn.write_status()


def _reason(conditions: list[dict[str, Any]] | None) -> str:
    return str((find(conditions, names.SCHEDULED) or {}).get("reason") or "")
