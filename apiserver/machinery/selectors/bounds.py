"""How long a selector may be. Upstream knows no bound but that of the request's head, 1 MiB, and reads that
fast; here it would keep everybody waiting for seconds."""

from __future__ import annotations

from apiserver.machinery.errors import bad_request

MAX_LENGTH = 64 * 1024
"""Characters: thousands of names."""


def ensure_length(text: str) -> None:
    """Refuse a selector that is longer. Raises a 400 APIError."""
    if len(text) > MAX_LENGTH:
        raise bad_request(f"the selector is too long: it may have at most {MAX_LENGTH} characters")
