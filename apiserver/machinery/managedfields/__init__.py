"""Server-side apply: who owns which field of an object, and what an apply makes of it."""

from apiserver.machinery.managedfields.manager import FieldManager
from apiserver.machinery.managedfields.names import default_manager

__all__ = ["FieldManager", "default_manager"]
