"""The closed set of API errors. Every failure of a request is one of these, and leaves as a `metav1.Status`.

Reasons, codes and the shape of Status are those of `k8s.io/apimachinery/pkg/api/errors` and
`metav1.StatusReason`. Nothing below `endpoints` knows of HTTP: an error carries its code because the API
conventions tie it to the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apiserver.machinery.gotext import quote
from apiserver.machinery.gvk import GroupResource

if TYPE_CHECKING:
    from apiserver.machinery.field import FieldError


@dataclass(frozen=True, slots=True)
class Cause:
    """One detail of a failure: `reason` for programs, `message` for people, `field` where it has one."""

    reason: str = ""
    message: str = ""
    field: str = ""

    def to_json(self) -> dict[str, str]:
        """The `metav1.StatusCause`."""
        pairs = (("reason", self.reason), ("message", self.message), ("field", self.field))
        return {key: value for key, value in pairs if value}


@dataclass(slots=True)
class APIError(Exception):
    """A failure as the client sees it. Raise it through the functions below, which know the usual texts.

    `headers` go out with the answer; Retry-After is not among them, it follows from `retry_after_seconds`.
    """

    code: int
    reason: str
    message: str
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: Sequence[Cause] = ()
    retry_after_seconds: int = 0
    continue_token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        Exception.__init__(self, self.message)

    def __str__(self) -> str:
        return self.message

    def status(self) -> dict[str, Any]:
        """The `metav1.Status` for this failure."""
        details: dict[str, Any] = {
            "name": self.name,
            "group": self.group,
            "kind": self.kind,
            "uid": self.uid,
            "causes": [cause.to_json() for cause in self.causes],
            "retryAfterSeconds": self.retry_after_seconds,
        }
        details = {key: value for key, value in details.items() if value}
        metadata = {"continue": self.continue_token} if self.continue_token else {}
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if details:
            status["details"] = details
        status["code"] = self.code
        return status


def _of(resource: GroupResource, name: str = "") -> dict[str, Any]:
    return {"group": resource.group, "kind": resource.resource, "name": name}


def bad_request(message: str) -> APIError:
    """400: the request itself is malformed."""
    return APIError(400, "BadRequest", message)


def unauthorized(message: str = "Unauthorized") -> APIError:
    """401: credentials were given and are not accepted, or are needed."""
    return APIError(401, "Unauthorized", message)


def forbidden(resource: GroupResource, name: str, why: str, *, causes: Sequence[Cause] = ()) -> APIError:
    """403: known, but not allowed."""
    subject = f"{resource} {quote(name)} is forbidden" if name else f"{resource} is forbidden"
    return APIError(403, "Forbidden", f"{subject}: {why}", causes=causes, **_of(resource, name))


def forbidden_path(message: str) -> APIError:
    """403 for a request that is about no resource."""
    return APIError(403, "Forbidden", f"forbidden: {message}")


def not_found(resource: GroupResource, name: str) -> APIError:
    """404: no such object."""
    return APIError(404, "NotFound", f"{resource} {quote(name)} not found", **_of(resource, name))


def no_such_path() -> APIError:
    """404: nothing is served at this path."""
    return APIError(404, "NotFound", "the server could not find the requested resource")


def method_not_supported(resource: GroupResource, verb: str) -> APIError:
    """405: the resource does not support the verb."""
    message = f"{verb} is not supported on resources of kind {quote(str(resource))}"
    return APIError(405, "MethodNotAllowed", message, group=resource.group, kind=resource.resource)


def not_acceptable(accepted: Iterable[str]) -> APIError:
    """406: none of the media types that the client accepts can be produced."""
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return APIError(406, "NotAcceptable", message)


def already_exists(resource: GroupResource, name: str) -> APIError:
    """409: an object of this name is there already."""
    return APIError(409, "AlreadyExists", f"{resource} {quote(name)} already exists", **_of(resource, name))


def conflict(resource: GroupResource, name: str, why: str) -> APIError:
    """409: the object is not in the state that the request is about."""
    message = f"Operation cannot be fulfilled on {resource} {quote(name)}: {why}"
    return APIError(409, "Conflict", message, **_of(resource, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def apply_conflict(message: str, causes: Sequence[Cause]) -> APIError:
    """409: server-side apply would take fields that others own."""
    return APIError(409, "Conflict", message, causes=causes)


def expired(message: str, *, continue_token: str = "") -> APIError:
    """410: the revision asked for has been compacted or has left the watch window."""
    return APIError(410, "Expired", message, continue_token=continue_token)


def too_large(message: str) -> APIError:
    """413: the body is larger than the limit."""
    return APIError(413, "RequestEntityTooLarge", message)


def unsupported_media_type(message: str) -> APIError:
    """415: the body's media type is none of the supported ones."""
    return APIError(415, "UnsupportedMediaType", message)


MAX_CAUSES = 100
"""How many field errors a 422 tells. A hostile object of 3 MiB has a million, each with its own text."""


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> APIError:
    """422: the object breaks its schema or rules; one cause for each field error, up to `MAX_CAUSES`."""
    errors = errors[:MAX_CAUSES]
    subject = f"{kind}.{group}" if group else kind
    texts = list(dict.fromkeys(str(error) for error in errors))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f"{subject} {quote(name)} is invalid" + (f": {listed}" if texts else "")
    causes = [error.cause() for error in errors]
    return APIError(422, "Invalid", message, name=name, group=group, kind=kind, causes=causes)


def too_many_requests(message: str, retry_after_seconds: int) -> APIError:
    """429: slow down."""
    return APIError(429, "TooManyRequests", message, retry_after_seconds=retry_after_seconds)


def internal(message: str) -> APIError:
    """500: a fault of ours. `message` never carries a traceback."""
    text = f"Internal error occurred: {message}"
    return APIError(500, "InternalError", text, causes=[Cause(message=message)])


def unavailable(message: str, retry_after_seconds: int = 1) -> APIError:
    """503: starting, stopping, or storage is out of reach."""
    return APIError(503, "ServiceUnavailable", message, retry_after_seconds=retry_after_seconds)


def timeout(message: str, *, causes: Sequence[Cause] = (), retry_after_seconds: int = 1) -> APIError:
    """504: it was not done in time; whether it will be is not known."""
    return APIError(504, "Timeout", message, causes=causes, retry_after_seconds=retry_after_seconds)
