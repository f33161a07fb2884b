"""What a manager is called when the client does not say."""

from __future__ import annotations

from apiserver.machinery.objectmeta.validation import MAX_MANAGER_BYTES


def default_manager(user_agent: str) -> str:
    """The part of the User-Agent before the first slash, printable and at most 128 bytes long."""
    name = ""
    for char in user_agent.partition("/")[0]:
        if not char.isprintable():
            continue
        if len((name + char).encode()) > MAX_MANAGER_BYTES:
            break
        name += char
    return name
