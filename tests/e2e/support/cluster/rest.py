"""A raw HTTP client for Kubernetes servers: any method, any header, any bytes. It hides nothing.

The tests compare what is on the wire, so this must not retry, decode or follow anything by itself.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.certificates import Pair

JSON = "application/json"
USER_AGENT = "conformance/1"


@dataclass(frozen=True)
class Answer:
    """A whole HTTP answer. Header names are in lower case; one that occurs twice has two entries."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """The first header of this name, or the empty string."""
        return next((value for key, value in self.headers if key == name.lower()), "")

    def all(self, name: str) -> list[str]:
        """All headers of this name."""
        return [value for key, value in self.headers if key == name.lower()]

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class RequestFailedError(AssertionError):
    """An answer that is not the one expected; carries the answer's text."""


@dataclass
class Rest:
    """One server. A client certificate, a bearer token, both or none. One connection a request."""

    host: str
    port: int
    ca: Path
    client: Pair | None = None
    token: str = ""
    user_agent: str = USER_AGENT
    timeout: float = 30
    _context: ssl.SSLContext = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._context = ssl.create_default_context(cafile=str(self.ca))
        if self.client is not None:
            self._context.load_cert_chain(self.client.cert, self.client.key)

    def _connect(self, timeout: float | None) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self.host, self.port, context=self._context, timeout=timeout or self.timeout
        )

    def _headers(self, headers: Mapping[str, str] | None) -> dict[str, str]:
        merged = {"User-Agent": self.user_agent, "Accept": JSON, **(headers or {})}
        if self.token:
            merged.setdefault("Authorization", f"Bearer {self.token}")
        return {key: value for key, value in merged.items() if value is not None}

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Send one request and read the whole answer."""
        connection = self._connect(timeout)
        try:
            connection.request(method, path, body=body, headers=self._headers(headers))
            response = connection.getresponse()
            return Answer(response.status, _lower(response), response.read())
        finally:
            connection.close()

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str] | None = None, timeout: float | None = None
    ) -> Iterator[tuple[Answer, Iterator[bytes]]]:
        """A GET whose body is read line by line as it comes; on 200 the Answer has the head alone."""
        connection = self._connect(timeout)
        try:
            connection.request("GET", path, headers=self._headers(headers))
            response = connection.getresponse()
            body = b"" if response.status == 200 else response.read()
            yield Answer(response.status, _lower(response), body), _lines(response)
        finally:
            connection.close()

    def call(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> Any:
        """JSON in, JSON out; raises RequestFailedError unless the answer is 2xx."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": content_type}
        answer = self.request(method, path, data, headers)
        if not 200 <= answer.status < 300:
            text = answer.body.decode(errors="replace")
            raise RequestFailedError(f"{method} {path}: {answer.status} {text}")
        return answer.json if answer.body else None

    def get(self, path: str) -> Any:
        """GET as JSON."""
        return self.call("GET", path)

    def create(self, path: str, body: Any) -> Any:
        """POST."""
        return self.call("POST", path, body)

    def merge(self, path: str, patch: Any) -> Any:
        """PATCH with a JSON merge patch."""
        return self.call("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, path: str, body: Any = None) -> Any:
        """DELETE."""
        return self.call("DELETE", path, body)

    def exists(self, path: str) -> bool:
        """Whether GET is 200 and not 404; anything else raises."""
        answer = self.request("GET", path)
        if answer.status not in (200, 404):
            raise RequestFailedError(f"GET {path}: {answer.status} {answer.body.decode(errors='replace')}")
        return answer.status == 200


def _lower(response: http.client.HTTPResponse) -> tuple[tuple[str, str], ...]:
    return tuple((key.lower(), value) for key, value in response.getheaders())


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while line := response.readline():
        if line.strip():
            yield line
