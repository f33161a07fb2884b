"""Reconcile loops and what they stand on."""
