"""One request as the handler chain has understood it so far. Kept in the ASGI scope under `SCOPE_KEY`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from apiserver.auth.user import UserInfo

SCOPE_KEY = "kube"
STOPPING_KEY = "kube.stopping"
"""The scope key of the event that tells streams to end, because the server stops."""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What the URL and the method say, as `k8s.io/apiserver/pkg/endpoints/request.RequestInfo` defines it.

    `verb` is get, list, watch, create, update, patch, delete or deletecollection for resource requests and
    the lower-case method for others. `resource` is plural; `name` is empty for collections.
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
    """The state of one request; each filter of the chain fills in its own part.

    `headers` has the first value of each header by its lower-case name, `query` all values of each parameter
    in order. `received` and `deadline` are times of the event loop's clock, in seconds. `warnings` are
    sentences for the client, who gets each once, however often a write was tried.
    """

    info: RequestInfo
    audit_id: str = ""
    user: UserInfo | None = None
    user_agent: str = ""
    deadline: float = 0.0
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    status_code: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    received: float = 0.0
    response_started: bool = False
    response_bytes: int = 0
    impersonator: UserInfo | None = None

    def parameter(self, name: str) -> str:
        """The first value of a query parameter, or the empty string."""
        values = self.query.get(name)
        return values[0] if values else ""
