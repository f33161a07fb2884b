"""The client of the cluster that this server extends.

It speaks raw JSON on API paths: callers know the resources they want, and objects stay plain dicts. The
configuration and the connections are those of `kubernetes.aio`. It retries nothing but a 401 with fresh
credentials (nothing was done then): when to try again is the business of its callers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp
import orjson
from kubernetes.aio.client.rest import RESTClientObject

from apiserver.host.config import ConfigSource, fingerprint
from apiserver.host.errors import HostUnreachable, error_from_answer, error_from_status
from apiserver.machinery.errors import APIError

Object = dict[str, Any]
Query = Mapping[str, str]

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

REQUEST_SECONDS = 30.0
CONNECT_SECONDS = 10.0
RELOAD_SECONDS = 60.0
PAGE_SIZE = 500
SILENT_SECONDS = 150.0
"""Bookmarks come about every minute: a watch that says nothing for longer than two of them is dead."""
MAX_EVENT_BYTES = 16 * 1024 * 1024


class HostClient:
    """A client of one API server. Make it with `from_kubeconfig`; close it. Every call raises `APIError` for
    an unsuccessful answer and `HostUnreachable` for none."""

    def __init__(self, source: ConfigSource, rest: RESTClientObject, mark: str) -> None:
        self._source = source
        self._rest = rest
        self._mark = mark
        self._loaded = time.monotonic()
        self._reload_lock = asyncio.Lock()
        self._retired: list[RESTClientObject] = []

    @classmethod
    async def from_kubeconfig(cls, path: str | None) -> HostClient:
        """Read the kubeconfig at `path`, or find the configuration as client-go does.
        Raises HostUnreachable."""
        source = ConfigSource(path)
        configuration = await source.load()
        mark = await asyncio.to_thread(fingerprint, configuration)
        return cls(source, await asyncio.to_thread(RESTClientObject, configuration), mark)

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return str(self._rest.configuration.host)

    async def close(self) -> None:
        """Close all connections."""
        for rest in (self._rest, *self._retired):
            await rest.close()

    async def get(self, path: str, *, query: Query | None = None, timeout: float = REQUEST_SECONDS) -> Object:
        """Read an object, or whatever JSON the path has."""
        return await self._call("GET", path, query=query, timeout=timeout)

    async def create(self, path: str, body: Object) -> Object:
        """POST an object to its collection (or to a subresource such as `pods/x/binding`)."""
        return await self._call("POST", path, body=body)

    async def update(self, path: str, body: Object) -> Object:
        """PUT an object; its resourceVersion is compared when it has one."""
        return await self._call("PUT", path, body=body)

    async def patch(
        self, path: str, body: Any, *, content_type: str = MERGE_PATCH, query: Query | None = None
    ) -> Object:
        """PATCH an object."""
        return await self._call("PATCH", path, body=body, query=query, content_type=content_type)

    async def delete(self, path: str, body: Object | None = None) -> Object:
        """DELETE an object; `body` is a `metav1.DeleteOptions`."""
        return await self._call("DELETE", path, body=body)

    async def list(self, path: str, *, query: Query | None = None) -> Object:
        """Read a whole collection, page by page at one revision;
        starts over in one piece if that revision expires."""
        if query and "limit" in query:
            return await self.get(path, query=query)
        first = await self.get(path, query={**(query or {}), "limit": str(PAGE_SIZE)})
        items: list[Object] = first.get("items") or []
        token = (first.get("metadata") or {}).get("continue")
        try:
            while token:
                page = await self.get(path, query=_next_page(query, token))
                items.extend(page.get("items") or ())
                token = (page.get("metadata") or {}).get("continue")
        except APIError as error:
            if error.code != 410:
                raise
            return await self.get(path, query=query)
        metadata = {
            key: value for key, value in (first.get("metadata") or {}).items() if key in _LIST_METADATA
        }
        return {**first, "metadata": metadata, "items": items}

    async def watch(
        self, path: str, *, query: Query | None = None, timeout: float = SILENT_SECONDS
    ) -> AsyncIterator[Object]:
        """Yield watch events until the server ends the stream.

        `timeout` is how long the stream may be silent, in seconds: no byte for longer raises HostUnreachable.
        An ERROR event raises the `APIError` that it holds (410 when the revision is too old).
        """
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=timeout)
        response = await self._send("GET", path, query={**(query or {}), "watch": "true"}, timeout=limits)
        try:
            async for line in _lines(response):
                event: Object = orjson.loads(line)
                if event.get("type") == "ERROR":
                    raise error_from_status(event.get("object") or {})
                yield event
        except _TRANSPORT as error:
            raise HostUnreachable(f"watch of {path} broke: {_say(error)}") from error
        except orjson.JSONDecodeError as error:
            raise HostUnreachable(f"watch of {path} sent what is no JSON: {error}") from error
        finally:
            response.close()

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = REQUEST_SECONDS,
    ) -> Object:
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, CONNECT_SECONDS))
        response = await self._send(
            method, path, query=query, body=body, content_type=content_type, timeout=limits
        )
        try:
            data = await response.read()
            answer = orjson.loads(data) if data else {}
        except _TRANSPORT as error:
            raise HostUnreachable(f"{method} {path}: {_say(error)}") from error
        except orjson.JSONDecodeError as error:
            raise HostUnreachable(f"{method} {path}: the answer is no JSON: {error}") from error
        finally:
            response.release()
        if not isinstance(answer, dict):
            raise HostUnreachable(f"{method} {path}: the answer is no JSON object")
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        *,
        timeout: aiohttp.ClientTimeout,
        query: Query | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> aiohttp.ClientResponse:
        """Send a request; return a successful response whose body is still to be read."""
        if time.monotonic() - self._loaded > RELOAD_SECONDS:
            await self._reload(anew=False)
        for attempt in (1, 2):
            rest = self._rest
            response = await self._send_once(rest, method, path, query, body, content_type, timeout)
            if response.status < 400:
                return response
            if response.status == 401 and attempt == 1:
                response.release()
                await self._reload(anew=True)
                continue
            break
        try:
            data = await response.read()
        except _TRANSPORT as error:
            raise HostUnreachable(f"{method} {path}: {_say(error)}") from error
        finally:
            response.release()
        raise error_from_answer(response.status, data, response.headers.get("Retry-After"))

    async def _send_once(
        self,
        rest: RESTClientObject,
        method: str,
        path: str,
        query: Query | None,
        body: Any,
        content_type: str,
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json", "Content-Type": content_type, "User-Agent": USER_AGENT}
        token = rest.configuration.api_key.get("BearerToken")
        if token:
            headers["Authorization"] = token
        url = f"{rest.configuration.host}{path}"
        if query:
            url = f"{url}?{urlencode(query)}"
        try:
            answer = await _request(rest)(method, url, headers=headers, body=body, _request_timeout=timeout)
        except _TRANSPORT as error:
            raise HostUnreachable(f"{method} {path}: {_say(error)}") from error
        response: aiohttp.ClientResponse = answer.response
        return response

    async def _reload(self, *, anew: bool) -> None:
        """Read the credentials again. Requests under way keep their connections; a changed certificate or CA
        gets new ones."""
        asked = time.monotonic()
        async with self._reload_lock:
            if self._loaded > asked:
                return
            configuration = await self._source.load(anew=anew)
            mark = await asyncio.to_thread(fingerprint, configuration)
            if mark == self._mark:
                self._rest.configuration.api_key.update(configuration.api_key)
            else:
                await self._replace(await asyncio.to_thread(RESTClientObject, configuration), mark)
            self._loaded = time.monotonic()

    async def _replace(self, rest: RESTClientObject, mark: str) -> None:
        """Swap the connections; of the old ones, only the last generation is kept
        for what is still under way."""
        while self._retired:
            await self._retired.pop().close()
        self._retired.append(self._rest)
        self._rest, self._mark = rest, mark


USER_AGENT = "inference-apiserver"
_TRANSPORT = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
_LIST_METADATA = ("resourceVersion",)


def _request(rest: RESTClientObject) -> Any:
    """The library's request method, which has no annotations."""
    return rest.request


def _next_page(query: Query | None, token: str) -> dict[str, str]:
    """The query of a following page: the token carries the revision, so the client must not repeat one."""
    kept = {key: value for key, value in (query or {}).items() if not key.startswith("resourceVersion")}
    return {**kept, "limit": str(PAGE_SIZE), "continue": token}


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The lines of a body, however it is chunked."""
    buffer = bytearray()
    async for chunk in response.content.iter_any():
        buffer += chunk
        if b"\n" not in chunk:
            if len(buffer) > MAX_EVENT_BYTES:
                raise HostUnreachable(f"a watch event is larger than {MAX_EVENT_BYTES} bytes")
            continue
        *lines, rest = bytes(buffer).split(b"\n")
        buffer = bytearray(rest)
        for line in lines:
            if line.strip():
                yield line
    if buffer.strip():
        yield bytes(buffer)


def _say(error: BaseException) -> str:
    """A sentence for an error that may have no text of its own (time-outs)."""
    return str(error) or type(error).__name__
