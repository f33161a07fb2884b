"""Step: a job that is being deleted gives everything back and lets go. Idempotent; every part is bounded."""

from __future__ import annotations

from apiserver.controllers.inferencejob import names, scratch
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.release import everything, give_back
from apiserver.controllers.inferencejob.world import Turn

IDLE_SECONDS = 2.0
"""How long a job holds nothing before the finalizer is taken off: longer than a booking takes."""


async def finalize(turn: Turn) -> bool:
    """True if the job is being deleted: no other step is for it."""
    if not turn.view.deleting:
        return False
    if not turn.view.holds_finalizer:
        return True
    turn.draft.set(phase="Terminating", queuePosition=None, message="Giving back what it holds")
    turn.draft.condition(names.READY, "False", Reason.TERMINATING, "The job is being deleted")
    if not await give_back(turn, everything(turn), keep_ended=True):
        await turn.write_status()
        return True
    await scratch.remove(turn)
    await turn.set_finalizer(False)
    return True


async def let_go(turn: Turn) -> None:
    """Take the finalizer off a job that lives and holds nothing: it can be deleted at once.

    Not before a while: another process that believes it leads may have put it on and be about to book. Each
    would undo what the other prepares, and nothing would be placed.
    """
    idle = not turn.view.holding and not turn.held and turn.view.key not in turn.world.scheduler.placing
    if not turn.view.holds_finalizer or not idle or turn.view.spec.get("scratch"):
        turn.world.idle.pop(turn.view.key, None)
        return
    now = turn.world.clock.monotonic()
    left = turn.world.idle.setdefault(turn.view.key, now) + IDLE_SECONDS - now
    if left > 0:
        turn.soon(left)
        return
    turn.world.idle.pop(turn.view.key, None)
    await turn.set_finalizer(False)
