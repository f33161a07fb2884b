"""The one list of all controllers, and what they share. A new controller is a name and a function here."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver.controllers.clients import Host, Objects
from apiserver.controllers.clock import Clock
from apiserver.controllers.events import EventRecorder
from apiserver.controllers.informer import Informer
from apiserver.controllers.reconciler import Runner

Loop = Callable[[], Coroutine[Any, Any, None]]
Check = Callable[[], str]
"""Says what is wrong; "" if nothing is."""


@dataclass(slots=True)
class Shared:
    """What controllers share. Informers are made once, by name."""

    objects: Objects
    host: Host
    clock: Clock
    events: EventRecorder
    informers: dict[str, Informer] = field(default_factory=dict)
    parts: dict[str, object] = field(default_factory=dict)
    """Anything else that several controllers stand on, by name."""

    def informer(self, name: str, make: Callable[[], Informer]) -> Informer:
        """The informer of this name, made if it is the first to ask."""
        if name not in self.informers:
            self.informers[name] = make()
        return self.informers[name]


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller, put together: its workers, its other loops, its checks."""

    runners: Sequence[Runner]
    loops: Sequence[Loop] = ()
    checks: Mapping[str, Check] = field(default_factory=dict)


Build = Callable[[Shared], Controller]


def controllers() -> dict[str, Build]:
    """All controllers by name."""
    from apiserver.controllers.inferencejob import build

    return {"gpunode": build.gpunode, "inferencejob": build.inferencejob}


def enabled(name: str, selection: Sequence[str]) -> bool:
    """Whether `--controllers` selects a controller, with the meaning of kube-controller-manager: `foo`
    switches foo on, `-foo` off, whichever comes first; `*` is everything else."""
    for item in selection:
        if item == name:
            return True
        if item == f"-{name}":
            return False
    return "*" in selection


def selected(known: Mapping[str, Build], selection: Sequence[str]) -> dict[str, Build]:
    """The controllers that a selection names. Raises ValueError for a name that is not known."""
    for item in selection:
        if item != "*" and item.removeprefix("-") not in known:
            raise ValueError(f"{item!r} is not in the list of known controllers: {', '.join(sorted(known))}")
    return {name: build for name, build in known.items() if enabled(name, selection)}
