"""What all tests share: the support package for the real control plane, and one hypothesis profile."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Its own folder, so that nothing else of `tests` becomes importable by accident.
sys.path.insert(0, str(Path(__file__).parent / "e2e" / "support"))

pytest_plugins = ["cluster.fixtures"]

settings.register_profile(
    "project", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")
