"""Pruning: fields that the schema does not know are removed and reported.

Source: pruning/algorithm.go of k8s.io/apiextensions-apiserver 0.36. It goes by the values at hand: an object
where the schema has a string loses all its fields, and the type error is left to validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]
Prune = Callable[[Any, str, list[str]], None]
"""Takes a dict or list, its path, and the list to which the paths of unknown fields are added."""

_META = ("apiVersion", "kind", "metadata")


def compile_prune(schema: Mapping[str, Any], *, root: bool = False) -> Prune:
    """The pruning of values of this schema.
    At the root, and in embedded resources, type and metadata are kept.
    """
    kept = frozenset(_META) if root or schema.get("x-kubernetes-embedded-resource") else frozenset()
    fields = {
        name: compile_prune(value) for name, value in schema.get("properties", {}).items() if name not in kept
    }
    extra = schema.get("additionalProperties")
    additional = (
        compile_prune(extra) if isinstance(extra, Mapping) else (_prune_all if extra is True else None)
    )
    items = compile_prune(schema["items"]) if "items" in schema else _prune_all
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return _keeping(fields, additional, _keeping_items(schema), kept)
    known = frozenset(fields) | kept

    def prune(value: Any, path: str, unknown: list[str]) -> None:
        if value.__class__ is list:
            _each(value, items, path, unknown)
            return
        if additional is None and not value.keys() <= known:
            _drop(value, known, path, unknown)
        for name, item in value.items():
            kind = item.__class__
            if kind is not str and (kind is dict or kind is list):
                child = fields.get(name, additional)
                if child is not None and name not in kept:
                    child(item, f"{path}.{name}" if path else name, unknown)

    return prune


def _drop(value: Json, known: frozenset[str], path: str, unknown: list[str]) -> None:
    for name in [name for name in value if name not in known]:
        del value[name]
        unknown.append(f"{path}.{name}" if path else name)


def _each(value: list[Any], prune: Prune, path: str, unknown: list[str]) -> None:
    for position, item in enumerate(value):
        if item.__class__ is dict or item.__class__ is list:
            prune(item, f"{path}[{position}]", unknown)


def _prune_all(value: Any, path: str, unknown: list[str]) -> None:
    """Nothing is known here: every field goes."""
    if value.__class__ is list:
        _each(value, _prune_all, path, unknown)
    else:
        _drop(value, frozenset(), path, unknown)


def _keeping(fields: dict[str, Prune], additional: Prune | None, items: Prune, kept: frozenset[str]) -> Prune:
    """Unknown fields stay; what is known is pruned below."""

    def prune(value: Any, path: str, unknown: list[str]) -> None:
        if value.__class__ is list:
            _each(value, items, path, unknown)
            return
        for name, item in value.items():
            if item.__class__ is dict or item.__class__ is list:
                child = fields.get(name, additional)
                if child is not None and name not in kept:
                    child(item, f"{path}.{name}" if path else name, unknown)

    return prune


def _keeping_items(schema: Mapping[str, Any]) -> Prune:
    """The items of a list that keeps unknown fields keep theirs too."""
    items = schema.get("items")
    if items is None:
        return _keep_all
    return compile_prune({**items, "x-kubernetes-preserve-unknown-fields": True})


def _keep_all(value: Any, path: str, unknown: list[str]) -> None:
    """Nothing is known and everything stays."""
