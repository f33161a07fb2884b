"""Bounded waiting for something that happens in another process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(what: str, probe: Callable[[], T], seconds: float = 20, every: float = 0.1) -> T:
    """Call `probe` until it gives something true and return that. An AssertionError counts as not yet.

    Raises AssertionError, with the last failure's text, after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        last = "it stayed false"
        try:
            if value := probe():
                return value
        except (AssertionError, OSError) as error:
            last = str(error) or type(error).__name__
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds:g} s; {last}")
        time.sleep(every)
