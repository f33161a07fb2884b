"""An honest small cluster in memory: objects with revisions, conflicts, watches and transactions; no kubelet
but the test itself."""

from fakecluster.host import MemoryHost
from fakecluster.lab import Lab, ready_node
from fakecluster.objects import MemoryObjects
from fakecluster.store import MemoryStore

__all__ = ["Lab", "MemoryHost", "MemoryObjects", "MemoryStore", "ready_node"]
