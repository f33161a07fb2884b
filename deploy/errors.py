"""Why an installation could not be done or finished, in a sentence for people."""

from __future__ import annotations


class DeployError(Exception):
    """The message says what is wrong and what to do about it."""
