"""Paths to fields, and the closed set of errors that a field can have.

Texts and reasons are those of `k8s.io/apimachinery/pkg/util/validation/field`, because clients match on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from apiserver.machinery.errors import Cause
from apiserver.machinery.gotext import quote, show

FieldErrorType = Literal[
    "FieldValueNotFound",
    "FieldValueRequired",
    "FieldValueDuplicate",
    "FieldValueInvalid",
    "FieldValueNotSupported",
    "FieldValueForbidden",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTooFew",
    "FieldValueTooShort",
    "InternalError",
    "FieldValueTypeInvalid",
]


@dataclass(frozen=True, slots=True)
class Path:
    """A path to a field, such as `spec.env[2].name` or `metadata.labels[a/b]`."""

    text: str = ""

    def child(self, *names: str) -> Path:
        """The path of a named field below this one."""
        joined = ".".join(names)
        return Path(f"{self.text}.{joined}" if self.text else joined)

    def index(self, position: int) -> Path:
        """The path of a list item."""
        return Path(f"{self.text}[{position}]")

    def key(self, key: str) -> Path:
        """The path of a map entry."""
        return Path(f"{self.text}[{key}]")

    def __str__(self) -> str:
        return self.text or "<nil>"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field. `detail` is the sentence after the field and its value."""

    type: FieldErrorType
    path: str
    detail: str
    value: Any = None
    shows_value: bool = True

    @property
    def body(self) -> str:
        """The text without the path: what a Status cause carries."""
        label = _LABELS[self.type]
        if self.shows_value and self.type not in _VALUELESS:
            label = f"{label}: {show(self.value)}"
        return f"{label}: {self.detail}" if self.detail else label

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"

    def cause(self) -> Cause:
        """The Status cause that reports this error."""
        return Cause(reason=self.type, message=self.body, field=self.path)


_LABELS: dict[str, str] = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "FieldValueTooShort": "Too short",
    "InternalError": "Internal error",
    "FieldValueTypeInvalid": "Invalid value",
}
_VALUELESS = frozenset(
    {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooShort", "InternalError"}
)


def required(path: Path, detail: str = "") -> FieldError:
    """The field must be given."""
    return FieldError("FieldValueRequired", str(path), detail)


def invalid(path: Path, value: Any, detail: str) -> FieldError:
    """The field has a value that is not allowed."""
    return FieldError("FieldValueInvalid", str(path), detail, value)


def not_supported(path: Path, value: Any, supported: list[str]) -> FieldError:
    """The field has a value outside of its enumeration."""
    detail = f"supported values: {', '.join(map(quote, supported))}" if supported else ""
    return FieldError("FieldValueNotSupported", str(path), detail, value)


def forbidden(path: Path, detail: str) -> FieldError:
    """The field may not be given, or not be changed, in this situation."""
    return FieldError("FieldValueForbidden", str(path), detail)


def duplicate(path: Path, value: Any) -> FieldError:
    """A value that must be unique occurs again."""
    return FieldError("FieldValueDuplicate", str(path), "", value)


def not_found(path: Path, value: Any) -> FieldError:
    """The field refers to something that does not exist."""
    return FieldError("FieldValueNotFound", str(path), "", value)


def too_long(path: Path, maximum: int, unit: Literal["byte", "character"] = "byte") -> FieldError:
    """A string is longer than `maximum` units."""
    return FieldError("FieldValueTooLong", str(path), f"may not be more than {_count(maximum, unit)}")


def too_many(path: Path, actual: int, maximum: int) -> FieldError:
    """A list or map has more than `maximum` entries."""
    return FieldError("FieldValueTooMany", str(path), f"must have at most {_count(maximum, 'item')}", actual)


def too_short(path: Path, minimum: int) -> FieldError:
    """A string has fewer than `minimum` characters."""
    return FieldError("FieldValueTooShort", str(path), f"must be at least {_count(minimum, 'character')}")


def internal(path: Path, detail: str) -> FieldError:
    """The field could not be checked, through no fault of the client."""
    return FieldError("InternalError", str(path), detail)


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
