"""What can go wrong with certificates, apart from bugs."""

from __future__ import annotations


class CertificateError(Exception):
    """A certificate or key cannot be used: unreadable, not a pair, or not what it is meant to be."""


class LockTimeoutError(CertificateError):
    """Another process held the directory's lock for longer than the wait allows."""


class PublishError(Exception):
    """The caller's `publish` could not hand out the trust bundle now; it is worth trying again."""
