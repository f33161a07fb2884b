"""Tables: the rows and columns that `kubectl get` prints, as `meta.k8s.io/v1` Table has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """A printed column. `cell` takes the object and gives a JSON scalar; None prints as `<none>`.

    `type` and `format` are OpenAPI's; `priority` 0 is always shown, 1 and more only with `-o wide`. The type `date`
    is printed as an age by clients that get the whole object and as text by the server in tables.
    """

    name: str
    cell: Callable[[dict[str, Any]], Any]
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""
    json_path: str = ""
