"""What is particular to a resource: hooks that the generic store calls. The defaults do nothing."""

from __future__ import annotations

from typing import Any

from apiserver.machinery.field import FieldError

Object = dict[str, Any]


class Strategy:
    """Rules of a resource beyond its schema. Objects are of the storage version;
    `prepare_*` change them in place.

    Field errors point at paths of the storage version.
    """

    allow_unconditional_update = False
    """Whether PUT without a resourceVersion may overwrite whatever is stored. Custom resources say no, and
    so do we."""

    def prepare_for_create(self, obj: Object) -> None:
        """Set what the server decides before validation."""

    def prepare_for_update(self, obj: Object, old: Object) -> None:
        """Set what the server decides before validation of an update of the main resource."""

    def prepare_for_status_update(self, obj: Object, old: Object) -> None:
        """Set what the server decides before validation of an update of /status."""

    def validate(self, obj: Object) -> list[FieldError]:
        """Cross-field rules of a new object."""
        return []

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Cross-field rules of a changed object; also what may not change."""
        return self.validate(obj)

    def validate_status_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Rules of a changed status."""
        return []

    def warnings(self, obj: Object) -> list[str]:
        """Sentences for the client about a create or update that is allowed but doubtful."""
        return []
