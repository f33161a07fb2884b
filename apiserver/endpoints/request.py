"""One request as the handler chain has understood it so far. Kept in the ASGI scope under `SCOPE_KEY`."""

from __future__ import annotations

from dataclasses import dataclass, field

from apiserver.auth.user import UserInfo

SCOPE_KEY = "kube"


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What the URL and the method say, as `k8s.io/apiserver/pkg/endpoints/request.RequestInfo` defines it.

    `verb` is get, list, watch, create, update, patch, delete or deletecollection for resource requests and the
    lower-case method for others. `resource` is plural; `name` is empty for collections.
    """

    is_resource_request: bool
    path: str
    verb: str
    method: str = "GET"
    api_prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    field_selector: str = ""
    label_selector: str = ""


@dataclass(slots=True)
class Request:
    """The state of one request; each filter of the chain fills in its own part."""

    info: RequestInfo
    audit_id: str = ""
    user: UserInfo | None = None
    user_agent: str = ""
    deadline: float = 0.0
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    status_code: int = 0
