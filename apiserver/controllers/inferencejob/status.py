"""The status of a job: a draft that the steps of a reconciliation change,
and the one place where it is written.

An unchanged status writes nothing: the comparison is of meaning (an absent field equals an empty one).
"""

from __future__ import annotations

from typing import Any

from apiserver.controllers import conditions
from apiserver.controllers.conditions import Truth
from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.names import Reason
from apiserver.controllers.inferencejob.view import JobView

Object = dict[str, Any]

MESSAGE_LIMIT = 4096


class StatusDraft:
    """What the status of a job is to become. `now` is the time stamp of this reconciliation."""

    def __init__(self, view: JobView, now: str) -> None:
        self.now = now
        self._view = view
        self._status: Object = dict(view.status)

    def set(self, **fields: Any) -> None:
        """Set fields by their wire names; None takes one away."""
        for key, value in fields.items():
            if value is None:
                self._status.pop(key, None)
            else:
                self._status[key] = value

    def get(self, key: str) -> Any:
        """A field as it is in the draft."""
        return self._status.get(key)

    def condition(self, kind: str, status: Truth, reason: str, message: str = "") -> None:
        """Set a condition."""
        self._status["conditions"] = conditions.with_condition(
            self._status.get("conditions"),
            kind,
            status,
            reason,
            message[:MESSAGE_LIMIT],
            generation=self._view.generation,
            now=self.now,
        )

    def place(self, placements: dict[int, Object]) -> None:
        """Set the placements."""
        self._status["placements"] = [placements[replica] for replica in sorted(placements)]

    @property
    def placements(self) -> dict[int, Object]:
        """The placements of the draft, by replica."""
        return {int(item["replica"]): item for item in self._status.get("placements") or ()}

    def not_placed(self, reason: str, message: str) -> None:
        """The job has no GPUs, or is giving them back: conditions that follow from it."""
        self.condition(names.SCHEDULED, "False", reason, message)
        self.condition(names.READY, "False", Reason.NOT_PLACED, message)
        self.set(message=message[:MESSAGE_LIMIT])

    @property
    def changed(self) -> bool:
        """Whether the draft means something else than what is stored."""
        return _meaning(self._status) != _meaning(self._view.status)

    def result(self) -> Object:
        """The job with the draft as its status."""
        self.settle_generation()
        status = dict(self._status)
        if isinstance(status.get("message"), str):
            status["message"] = status["message"][:MESSAGE_LIMIT]
        return {**self._view.obj, "status": status}

    def settle_generation(self) -> None:
        """This reconciliation has seen the current spec, and what the conditions say holds for it: clients
        that wait for a condition disregard one of an older generation."""
        self._status["observedGeneration"] = self._view.generation
        if self._status.get("conditions"):
            self._status["conditions"] = [self._seen(item) for item in self._status["conditions"]]

    def _seen(self, condition: Object) -> Object:
        """The condition as of the current generation;
        but a terminal error is one of the generation that made it."""
        if condition.get("reason") == Reason.INVALID_POD and not self._view.finished:
            return condition
        return {**condition, "observedGeneration": self._view.generation}


def _meaning(status: Object) -> Object:
    return {key: value for key, value in status.items() if value not in (None, [], {}, "")}
