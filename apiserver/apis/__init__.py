"""The API types: one package a group, one module a version."""
