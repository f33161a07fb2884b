"""Nodes that are left alone for a while because a kubelet or a device failed there. In memory: after a
restart the worst that can happen is one more rejected pod."""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.controllers.clock import Clock

FIRST_SECONDS = 30.0
MAX_SECONDS = 600.0
FORGET_SECONDS = 3600.0


@dataclass(slots=True)
class _State:
    failures: int
    until: float


class NodeBackoff:
    """Exponential, per node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._states: dict[str, _State] = {}

    def failed(self, node: str) -> float:
        """Something failed on the node; returns for how many seconds it is left alone."""
        now = self._clock.monotonic()
        state = self._states.get(node)
        if state is None or now - state.until > FORGET_SECONDS:
            state = self._states[node] = _State(0, now)
        if now < state.until:
            # Replicas of one gang that fail together are one failure of the node.
            return state.until - now
        seconds = min(FIRST_SECONDS * 2.0**state.failures, MAX_SECONDS)
        state.failures += 1
        state.until = now + seconds
        return seconds

    def nodes(self) -> frozenset[str]:
        """The nodes that are left alone now."""
        now = self._clock.monotonic()
        self._states = {
            name: state for name, state in self._states.items() if now - state.until <= FORGET_SECONDS
        }
        return frozenset(name for name, state in self._states.items() if now < state.until)

    def next_expiry(self) -> float | None:
        """Seconds until a node comes back; None if none is left alone."""
        now = self._clock.monotonic()
        waits = [state.until - now for state in self._states.values() if state.until > now]
        return min(waits, default=None)
