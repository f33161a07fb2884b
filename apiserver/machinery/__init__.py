"""The Kubernetes object model as pure functions. No I/O."""
