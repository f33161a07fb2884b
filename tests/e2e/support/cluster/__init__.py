"""A real Kubernetes control plane on loopback, and the means to drive it, for tests that need the real thing.

This package knows processes, certificates and HTTP; it must not import the product,
which the tests run as a process.
"""
