"""Runs the steps of a case against one side and notes the normalised answers."""

from __future__ import annotations

import http.client
import json
import re
import threading
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cluster.kubectl import Kubectl as KubectlProgram
from cluster.rest import Answer, Rest

from differential.case import Body, Case, Kubectl, Request, Step, Watch
from differential.normalise import Normaliser

_PLACEHOLDER = re.compile(r"\$\{([a-z0-9.]+)\}")
_TEMPORARY = re.compile(r"/tmp/[A-Z]+-\d+/")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d\.\d+")
_KLOG = re.compile(r"^([IWE])\d{4} \S+ +\d+ ", re.MULTILINE)
_VERSION = re.compile(r"Resource Version:\s+\d+")
PLURAL = "inferencejobs"
# A plain bookmark may come at any time; a watch of this many seconds must see one.
LONG_WATCH = 3


@dataclass(frozen=True)
class Side:
    """One of the two that are compared."""

    group: str
    rest: Rest
    kubectl: KubectlProgram
    computed: frozenset[str] = frozenset()
    initial: Mapping[str, Any] = field(default_factory=dict)

    def run(self, case: Case, namespace: str) -> list[dict[str, Any]]:
        """The normalised answers of all steps, in order."""
        return _Run(self, namespace).steps(case.steps)


@dataclass
class _Run:
    side: Side
    namespace: str
    values: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        root = f"/apis/{self.side.group}/v1"
        self.values.update(
            group=self.side.group,
            gv=f"{self.side.group}/v1",
            root=root,
            ns=self.namespace,
            objects=f"{root}/namespaces/{self.namespace}/{PLURAL}",
        )
        words = {self.side.group: "GROUP", self.namespace: "NS"}
        self.normal = Normaliser(words, self.side.computed, self.side.initial)

    def steps(self, steps: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for step in steps:
            found.extend(self._step(step))
        return found

    def _step(self, step: Step) -> list[dict[str, Any]]:
        if isinstance(step, Request):
            return [self._request(step)]
        if isinstance(step, Watch):
            return self._watch(step)
        return [self._kubectl(step)]

    def _request(self, step: Request) -> dict[str, Any]:
        body = self._encoded(step.body)
        path = self._filled(step.path, quote=True)
        try:
            answer = self.side.rest.request(step.method, path, body, self._headers(step.headers))
        except (http.client.HTTPException, OSError) as error:
            # To end the connection without an answer is an answer too.
            return {"code": type(error).__name__}
        self._remember(answer, step.save)
        extract = step.extract
        group = self.side.group
        return self.normal.answer(answer, None if extract is None else lambda body: extract(body, group))

    def _watch(self, step: Watch) -> list[dict[str, Any]]:
        path = self._filled(step.path, quote=True)
        if "timeoutSeconds" not in path:
            path += f"&timeoutSeconds={step.seconds}"
        lines: list[bytes] = []
        with self.side.rest.stream(path, self._headers(step.headers), timeout=step.seconds + 20) as (
            head,
            body,
        ):
            if head.status != 200:
                return [self.normal.answer(head), *self.steps(step.during)]
            reader = threading.Thread(target=lambda: lines.extend(body), daemon=True)
            reader.start()
            during = self.steps(step.during)
            reader.join(step.seconds + 25)
            ended = not reader.is_alive()
        events = [self.normal.event(line) for line in lines]
        marks = [event for event in events if _is_plain_bookmark(event)]
        seen = {"events": [event for event in events if event not in marks], "ended": ended}
        if step.seconds >= LONG_WATCH:
            seen["bookmarks"] = bool(marks)
        return [{**self.normal.answer(head), **seen}, *during]

    def _kubectl(self, step: Kubectl) -> dict[str, Any]:
        stdin = self._encoded(step.stdin) or b""
        program = self.side.kubectl.inside(self.namespace)
        done = program.run(
            *[self._filled(arg) for arg in step.args], stdin=stdin.decode(), env=dict(step.env)
        )
        return {"exit": done.code, "out": self._printed(done.out), "err": self._printed(done.err)}

    def _printed(self, text: str) -> Any:
        if text.startswith("{"):
            return self.normal.value(json.loads(text))
        text = _KLOG.sub(r"\1 ", text)
        text = _TEMPORARY.sub("TEMPORARY/", _CLOCK.sub("CLOCK", _VERSION.sub("Resource Version: RV", text)))
        return [[self.normal.text(word) for word in line.split()] for line in text.splitlines()]

    def _encoded(self, body: Body) -> bytes | None:
        if body is None or isinstance(body, bytes):
            return body
        text = body if isinstance(body, str) else json.dumps(body)
        return self._filled(text).encode()

    def _headers(self, headers: Mapping[str, str | None]) -> dict[str, Any]:
        return {name: value if value is None else self._filled(value) for name, value in headers.items()}

    def _filled(self, text: str, *, quote: bool = False) -> str:
        def value(found: re.Match[str]) -> str:
            known = self.values.get(found[1], f"unknown-{found[1]}")
            return urllib.parse.quote(known, safe="/") if quote else known

        return _PLACEHOLDER.sub(value, text)

    def _remember(self, answer: Answer, save: str) -> None:
        try:
            parsed = json.loads(answer.body)
        except ValueError:
            return
        metadata = parsed.get("metadata") if isinstance(parsed, dict) else None
        if not isinstance(metadata, dict):
            return
        is_list = "items" in parsed or "rows" in parsed
        version = "listrv" if is_list else "rv"
        names = (("resourceVersion", version), ("uid", "uid"), ("name", "name"), ("continue", "continue"))
        for key, name in names:
            if isinstance(metadata.get(key), str):
                self.values[name] = metadata[key]
                if save:
                    self.values[f"{save}.{name}"] = metadata[key]


def _is_plain_bookmark(event: Any) -> bool:
    if not isinstance(event, dict) or event.get("type") != "BOOKMARK":
        return False
    return "k8s.io/initial-events-end" not in json.dumps(event)
