"""Makes the small in-memory cluster importable, and gives tests its usual parts."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
