"""How a type is declared: pydantic models plus markers for what JSON schema cannot say.

A model declares names, types, defaults, limits and descriptions; objects at run time stay plain dicts.

* a field without a default is required; a default other than None is the API's default; `None` means "may be
  absent";
* `X | None` does not admit an explicit null: that takes the marker `NULLABLE`;
* `Field(ge=, gt=, le=, lt=, multiple_of=, pattern=, min_length=, max_length=, description=)` limit the value,
  with lengths meaning items of a list and entries of a map; `Literal[...]` is an enumeration;
* `dict[str, Any]` and `Any` keep unknown fields.

    class Container(APIModel):
        '''One container of a pod.'''

        name: Annotated[str, Field(min_length=1, description="Name, unique in the pod.")]
        env: Annotated[list[EnvVar], ListMap("name")] | None = Field(default=None, description="Variables.")
        limits: dict[str, Quantity] | None = Field(default=None, description="Upper bounds.")

Source of the markers: Kubernetes, "Extend the Kubernetes API with CustomResourceDefinitions", keys
x-kubernetes-*.
This module knows nothing of schemas or of HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class APIModel(BaseModel):
    """A declared API type: snake_case in Python, camelCase on the wire."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", protected_namespaces=()
    )


@dataclass(frozen=True, slots=True, eq=False)
class Extension:
    """A marker: keys that are added to the schema of the value it annotates."""

    keys: dict[str, Any] = field(default_factory=dict)


def ListMap(*keys: str) -> Extension:  # noqa: N802 - reads as a type in annotations
    """A list whose items are objects told apart by `keys`; apply merges item by item."""
    return Extension({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def Format(name: str) -> Extension:  # noqa: N802 - reads as a type in annotations
    """A format of OpenAPI, such as `date-time`, `int32`, `uri` or `byte`."""
    return Extension({"format": name})


ListSet: Final = Extension({"x-kubernetes-list-type": "set"})
"""A list of unique scalars; apply merges item by item."""
ListAtomic: Final = Extension({"x-kubernetes-list-type": "atomic"})
"""A list that has one owner as a whole (also the meaning without a marker)."""
MapAtomic: Final = Extension({"x-kubernetes-map-type": "atomic"})
"""A map that has one owner as a whole."""
StructAtomic: Final = MapAtomic
"""An object that has one owner as a whole."""
PreserveUnknown: Final = Extension({"x-kubernetes-preserve-unknown-fields": True})
"""Fields that the schema does not know are kept."""
EmbeddedResource: Final = Extension({"type": "object", "x-kubernetes-embedded-resource": True})
"""The object has apiVersion, kind and metadata of its own, which are checked."""
NULLABLE: Final = Extension({"nullable": True})
"""An explicit null is a value of the field."""

_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY_PATTERN: Final = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"
"""What a string must look like to be a quantity; the same text that generated CRDs carry."""

IntOrString = Annotated[int | str, Extension({"x-kubernetes-int-or-string": True})]
"""An integer or a string (a port, a percentage)."""
Quantity = Annotated[int | str, Extension({"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN})]
"""A resource quantity such as `2`, `500m` or `64Gi`."""
Int32 = Annotated[int, Format("int32")]
"""A 32-bit integer."""
Time = Annotated[str, Format("date-time")]
"""An RFC 3339 time."""
