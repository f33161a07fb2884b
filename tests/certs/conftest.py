"""Time that moves when told to, and a short-lived policy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from certs import Names, Policy

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@dataclass
class Clock:
    """`now()` stands still until `advance`."""

    at: datetime = NOW

    def now(self) -> datetime:
        return self.at

    def advance(self, **parts: float) -> None:
        self.at += timedelta(**parts)


@pytest.fixture
def clock() -> Clock:
    """A clock at NOW."""
    return Clock()


@pytest.fixture
def names() -> Names:
    """The Service's names and one from outside."""
    return Names("inference-apiserver", "ai", ("gpu.example.com", "10.0.0.7"))


@pytest.fixture
def policy() -> Policy:
    """An authority for 90 days, a serving certificate for 30."""
    return Policy(authority_lifetime=timedelta(days=90), serving_lifetime=timedelta(days=30))
