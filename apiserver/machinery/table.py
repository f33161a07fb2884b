"""Tables: the rows and columns that `kubectl get` prints, as `meta.k8s.io/v1` Table has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Column:
    """A printed column. `cell` takes the object and gives a JSON scalar; None prints as `<none>`.

    `type` and `format` are OpenAPI's; `priority` 0 is always shown, 1 and more only with `-o wide`. A cell of
    type `date` is an RFC 3339 time and goes out as the age at the time of the request, as upstream prints it.
    """

    name: str
    cell: Callable[[dict[str, Any]], Any]
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""
    json_path: str = ""


NAME = Column(
    "Name",
    lambda obj: obj["metadata"].get("name", ""),
    format="name",
    description="The name of the object, unique within its namespace (or the cluster) and kind.",
)
AGE = Column(
    "Age",
    lambda obj: obj["metadata"].get("creationTimestamp"),
    type="date",
    description="How long ago the object was created.",
    json_path=".metadata.creationTimestamp",
)


def with_standard_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with the name before them, and the age after them if nothing else is declared."""
    return (NAME, *columns) if columns else (NAME, AGE)


def column_definitions(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The `columnDefinitions` of a table."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns
    ]


def row_cells(columns: Sequence[Column], obj: dict[str, Any], now: datetime) -> list[Any]:
    """The cells of one row."""
    return [_cell(column, obj, now) for column in columns]


def _cell(column: Column, obj: dict[str, Any], now: datetime) -> Any:
    value = column.cell(obj)
    if column.type == "date":
        return age(value, now) if value else None
    return value


def age(timestamp: str, now: datetime) -> str:
    """The time since a timestamp, as `k8s.io/apimachinery/pkg/util/duration.HumanDuration` writes it."""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<invalid>"
    return human_duration(int((now - then).total_seconds()))


def human_duration(seconds: int) -> str:
    """A duration in about two or three significant figures: `59s`, `2m5s`, `3h`, `2d3h`, `5y120d`."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 24 * 8:
        return _two(days, "d", hours % 24, "h")
    if hours < 24 * 365 * 2:
        return f"{days}d"
    if hours < 24 * 365 * 8:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(first: int, first_unit: str, second: int, second_unit: str) -> str:
    return f"{first}{first_unit}{second}{second_unit}" if second else f"{first}{first_unit}"
