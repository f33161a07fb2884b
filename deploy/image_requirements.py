"""Print what the image installs before the sources are copied: the dependencies of pyproject.toml, pinned by
requirements.lock where there is one. Runs with nothing installed, as the first step of the image's build.
"""

from __future__ import annotations

import tomllib
from pathlib import Path


def requirements(root: Path) -> list[str]:
    """One requirement a line; `root` is the folder of pyproject.toml."""
    wanted: list[str] = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    lock = root / "requirements.lock"
    return [*wanted, f"-c {lock}"] if lock.is_file() else wanted


if __name__ == "__main__":
    print("\n".join(requirements(Path.cwd())))
