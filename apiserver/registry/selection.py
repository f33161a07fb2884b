"""Which objects a list, a watch or a deletecollection is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apiserver.machinery import errors
from apiserver.machinery.options import ListOptions
from apiserver.machinery.resource import Resource
from apiserver.machinery.selectors import parse_field_selector, parse_label_selector
from apiserver.registry.store import ResourceStore
from apiserver.registry.view import View


@dataclass(frozen=True, slots=True)
class Selection:
    """A namespace (empty: all), and selectors.
    `matches` judges an object, `everything` says that it never refuses."""

    namespace: str
    name: str
    matches: Callable[[View], bool]
    everything: bool


def key_range(store: ResourceStore, selection: Selection) -> tuple[bytes, bool]:
    """The prefix of the keys to look at. The second value says that it is a whole key: there can be but one
    object."""
    if selection.name and (selection.namespace or not store.resource.namespaced):
        return store.key(selection.namespace, selection.name), True
    return store.keys.collection(store.resource, selection.namespace), False


def select(resource: Resource, namespace: str, name: str, options: ListOptions) -> Selection:
    """Read the selectors of a request. Raises 400 for bad ones and for fields that cannot be selected by."""
    labels = parse_label_selector(options.label_selector)
    allowed = {"metadata.name", *resource.selectable_fields}
    if resource.namespaced:
        allowed.add("metadata.namespace")
    fields = parse_field_selector(options.field_selector, allowed)
    exact = fields.exact("metadata.name")
    if name:
        if fields and exact != name:
            raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
        exact = name
    if not labels and not fields and not name:
        return Selection(namespace, "", lambda _: True, everything=True)
    by_labels, by_fields = labels.predicate(), fields.predicate()

    def matches(view: View) -> bool:
        return (not name or view.name == name) and by_labels(view.labels) and by_fields(view.fields)

    return Selection(namespace, exact or "", matches, everything=False)
