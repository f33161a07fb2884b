"""The filters of the handler chain, one a file. `server/chain.py` says in which order they stand."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

Filter = Callable[[ASGIApp], ASGIApp]
