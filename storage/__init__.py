"""Versioned key-value storage: one interface, two backends, a watch cache. Knows nothing of Kubernetes."""
