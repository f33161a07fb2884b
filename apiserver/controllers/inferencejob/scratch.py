"""Step: the scratch volumes of a job, one claim for each replica, made when its node is known."""

from __future__ import annotations

from apiserver.controllers.clients import is_already_exists, is_not_found
from apiserver.controllers.inferencejob.pods import scratch_claim, scratch_claim_name
from apiserver.controllers.inferencejob.world import Turn
from apiserver.machinery.errors import APIError


def _claims(turn: Turn) -> str:
    return f"/api/v1/namespaces/{turn.view.namespace}/persistentvolumeclaims"


async def make(turn: Turn, replica: int, node: str) -> None:
    """Make the claim of a replica unless it is there."""
    if not turn.view.spec.get("scratch"):
        return
    try:
        await turn.world.host.create(_claims(turn), scratch_claim(turn.view, replica, node))
    except APIError as error:
        if not is_already_exists(error):
            raise


async def remove(turn: Turn) -> None:
    """Delete the claims. Idempotent, and does not wait: a claim in use goes when its pod is gone."""
    if not turn.view.spec.get("scratch"):
        return
    for replica in range(turn.view.replicas):
        try:
            await turn.world.host.delete(f"{_claims(turn)}/{scratch_claim_name(turn.view, replica)}")
        except APIError as error:
            if not is_not_found(error):
                raise
