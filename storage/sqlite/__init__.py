"""The store in one SQLite file: for a laptop, a test, or a small cluster with one replica."""

from storage.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
