"""Label and field selectors, as list and watch requests carry them."""

from apiserver.machinery.selectors.fields import FieldSelector, parse_field_selector
from apiserver.machinery.selectors.labels import LabelSelector, Requirement, parse_label_selector

__all__ = ["FieldSelector", "LabelSelector", "Requirement", "parse_field_selector", "parse_label_selector"]
