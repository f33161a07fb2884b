"""Manifests, and the logic that installs them into a cluster and takes them out again."""
