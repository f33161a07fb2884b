"""Certificates kept in a directory that `serve` and `install` share: whichever comes first makes them.

A lock file keeps two processes from making them at once. Each file is replaced atomically; the order of
writes (trust first, then authority, then serving; each key before its certificate) makes every crash in
between one that `rotation.prepare` repairs: a pair that does not match is made anew, and what was trusted
stays trusted.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from certs.errors import CertificateError, LockTimeoutError
from certs.rotation import Policy, Stored, complete, prepare
from certs.serving import Names
from certs.source import Material

LOCK_WAIT_SECONDS = 10.0
_LOCK_POLL_SECONDS = 0.02

FILES = (
    ("bundle", "ca-bundle.crt"),
    ("ca_key", "ca.key"),
    ("ca_cert", "ca.crt"),
    ("tls_key", "tls.key"),
    ("tls_cert", "tls.crt"),
)
"""Attribute of `Stored` and file name, in the order in which they are written."""


class CertDirectory:
    """`--cert-dir`. Methods without `async` block: call them from start-up code or a thread."""

    def __init__(
        self, path: Path, *, policy: Policy | None = None, lock_wait: float = LOCK_WAIT_SECONDS
    ) -> None:
        self.path = Path(path)
        self._policy = policy or Policy()
        self._lock_wait = lock_wait

    def ensure(self, names: Names, now: datetime) -> Material:
        """What to show now; makes or renews what is missing or due.
        Raises CertificateError, LockTimeoutError.
        """
        with self._locked():
            stored = self._read()
            prepared = prepare(stored, names, self._policy, now)
            self._write(stored, prepared)
        return Material.of(prepared.bundle, prepared.serving)

    def finish(self, names: Names, now: datetime, published: bytes) -> Material:
        """The second half of a rotation, after the bundle `published` has been handed out.

        Does nothing when another process has changed the bundle meanwhile: that one is not published yet.
        """
        with self._locked():
            stored = self._read()
            if stored.bundle == published:
                completed = complete(stored, names, self._policy, now)
                self._write(stored, completed)
                stored = completed
        return Material.of(stored.bundle, stored.serving)

    def bound(self, names: Names) -> DirectorySource:
        """A `Source` for these names."""
        return DirectorySource(self, names)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CertificateError(f"{self.path} cannot be used: {error}") from error
        try:
            self._acquire(descriptor)
            yield
        finally:
            os.close(descriptor)  # which gives the lock back

    def _acquire(self, descriptor: int) -> None:
        deadline = time.monotonic() + self._lock_wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise LockTimeoutError(f"{self.path} is locked by another process") from None
                time.sleep(_LOCK_POLL_SECONDS)
            else:
                return

    def _read(self) -> Stored:
        return Stored(**{attribute: self._read_file(name) for attribute, name in FILES})

    def _read_file(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise CertificateError(f"{self.path / name} cannot be read: {error}") from error

    def _write(self, before: Stored, after: Stored) -> None:
        try:
            for attribute, name in FILES:
                content = getattr(after, attribute)
                if content != getattr(before, attribute):
                    _replace(self.path / name, content)
        except OSError as error:
            raise CertificateError(f"{self.path} cannot be written: {error}") from error


class DirectorySource:
    """A directory and the names that its certificate must carry."""

    def __init__(self, directory: CertDirectory, names: Names) -> None:
        self._directory = directory
        self._names = names

    async def load(self, now: datetime) -> Material:
        """See `Source.load`."""
        return await asyncio.to_thread(self._directory.ensure, self._names, now)

    async def finish(self, now: datetime, published: bytes) -> Material:
        """See `Source.finish`."""
        return await asyncio.to_thread(self._directory.finish, self._names, now, published)


def _replace(path: Path, content: bytes) -> None:
    """Atomic and durable: a reader, or a crash, sees the old file or the new one."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
