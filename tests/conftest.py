"""What all tests share: the support package for the real control plane, and one hypothesis profile."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Folders of their own, so that nothing else of `tests` becomes importable by accident.
for _name in ("e2e", "conformance"):
    sys.path.insert(0, str(Path(__file__).parent / _name / "support"))

pytest_plugins = ["cluster.fixtures"]

settings.register_profile(
    "project", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")
