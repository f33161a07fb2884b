"""What a document says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Info:
    """Title and version of the program that serves the API."""

    title: str = "inference-apiserver"
    version: str = "v0.1.0"
