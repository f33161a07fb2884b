"""How the garbage collector is set once the server has settled."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from apiserver.server.collector import YOUNG, settle


@pytest.fixture
def restored() -> Iterator[None]:
    """The collector as it was."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("restored")
def test_what_lives_when_the_server_has_settled_is_not_looked_at_again() -> None:
    settle()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] == YOUNG


@pytest.mark.usefixtures("restored")
def test_cycles_that_are_made_later_are_still_found() -> None:
    settle()
    cycle: list[object] = []
    cycle.append(cycle)
    del cycle
    assert gc.collect() > 0
