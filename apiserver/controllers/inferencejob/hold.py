"""Step: jobs that are to give all their GPUs back and go on living: suspended, preempted, or incomplete for
too long.

The decision is written to the status first; so a restart in the middle goes on with it.
"""

from __future__ import annotations

from apiserver.controllers.conditions import find
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.finalize import let_go
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.release import everything, give_back
from apiserver.controllers.inferencejob.world import Turn


async def release_gang(turn: Turn) -> bool:
    """True while the gang is being released, or the job is suspended: no other step is for it."""
    scheduler = turn.world.scheduler
    if turn.view.suspended:
        turn.draft.not_placed(Reason.SUSPENDED, "The job is suspended")
    elif turn.view.holding and (message := scheduler.evictions.get(turn.view.key)):
        if (find(turn.view.conditions, names.SCHEDULED) or {}).get("reason") != Reason.PREEMPTED:
            turn.event("Warning", Reason.PREEMPTED, message)
        turn.draft.not_placed(Reason.PREEMPTED, message)
    elif not _released_by_draft(turn):
        return False
    turn.draft.set(phase="Pending", queuePosition=None, readyReplicas=0)
    if turn.view.suspended:
        # As for batch/v1 Jobs: the deadline starts anew when the job goes on.
        turn.draft.set(startTime=None)
    await turn.write_status()
    if await give_back(turn, everything(turn) - turn.view.completed, keep_ended=False):
        await let_go(turn)
    return True


def _released_by_draft(turn: Turn) -> bool:
    """Whether the status says so: written earlier, or by a step of this turn."""
    scheduled = find(turn.draft.get("conditions"), names.SCHEDULED) or {}
    releasing = scheduled.get("status") == "False" and scheduled.get("reason") in names.RELEASING
    return releasing and turn.view.holding
