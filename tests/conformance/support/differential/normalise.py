"""Makes two answers comparable: what differs from run to run becomes a name, and nothing else is touched.

Names are given in the order of appearance, one Normaliser for each side and case, so that "the revision
stays" and "the uid is another one" survive.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

import yaml
from cluster.rest import Answer

HEADERS = (
    "content-type",
    "warning",
    "retry-after",
    "allow",
    "vary",
    "cache-control",
    "location",
    "accept-patch",
)
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_HUMAN_TIME = re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")
_AGE = re.compile(r"^(?:\d+[smhd])+$")
# The names that the table has generated: `generateName` and five characters of the server's choice.
_GENERATED = re.compile(r"(Gen_|gen-|x-|g{58})[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_NUMBER = re.compile(r"\b\d+\b")
_CURRENT = re.compile(r"(?<=current: )\d+|(?<=too old resource version: 1 \()\d+")


class Normaliser:
    """Renames the accidental values of one side in one case.

    Cells of `computed` columns are skipped, and what a new object has of `initial` status is taken off.
    """

    def __init__(
        self,
        words: Mapping[str, str],
        computed: frozenset[str] = frozenset(),
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        self._words = sorted(words.items(), key=lambda item: -len(item[0]))
        self._computed = computed
        self._initial = initial or {}
        self._columns: list[str] = []
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}

    def answer(self, answer: Answer, extract: Any = None) -> dict[str, Any]:
        """A whole answer: code, the headers that matter, and the body, parsed when it is JSON."""
        headers = {name: values for name in HEADERS if (values := self._header(answer, name))}
        return {"code": answer.status, "headers": headers, "body": self._body(answer, extract)}

    def event(self, line: bytes) -> Any:
        """One event of a watch."""
        try:
            event = json.loads(line)
        except ValueError:
            return self.text(line.decode(errors="replace"))
        return self.value(event)

    def value(self, value: Any) -> Any:
        """JSON at any depth."""
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, str):
            return self.text(value)
        return value

    def text(self, text: str) -> str:
        """A string, in whatever field."""
        for word, name in self._words:
            text = text.replace(word, name)
        text = _GENERATED.sub(r"\1XXXXX", text)
        text = _UUID.sub(lambda found: self._uids.setdefault(found[0], f"UID{len(self._uids) + 1}"), text)
        text = _HUMAN_TIME.sub("TIME", _TIME.sub("TIME", text))
        text = _CURRENT.sub("NUMBER", text)
        if _AGE.match(text):
            return "AGE"
        return _NUMBER.sub(lambda found: self._versions.get(found[0], found[0]), text)

    def _header(self, answer: Answer, name: str) -> list[str]:
        values = [self.text(value) for value in answer.all(name)]
        # The aggregator sets its own beside the one of the server behind it, whoever that is.
        return list(dict.fromkeys(values)) if name == "cache-control" else values

    def _body(self, answer: Answer, extract: Any) -> Any:
        text = answer.body.decode(errors="replace")
        if "json" in answer.header("content-type"):
            try:
                parsed = json.loads(text)
            except ValueError:
                return self.text(text)
            if extract is not None and answer.status == 200:
                parsed = extract(parsed)
            normal = self.value(parsed)
            indented = text.startswith("{\n")
            return {"indented": normal} if indented else normal
        if "yaml" in answer.header("content-type"):
            return {"yaml": self.value(yaml.load(text, Loader=yaml.BaseLoader))}
        if "protobuf" in answer.header("content-type"):
            return "(protobuf)"
        return self.text(text)

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            self._learn(value, metadata)
        value = self._without_initial(self._without_computed(value))
        if "storageVersionHash" in value:
            value = {**value, "storageVersionHash": f"{len(value['storageVersionHash'])} characters"}
        made = {self.text(key): self.value(item) for key, item in value.items()}
        if isinstance(metadata, dict) and isinstance(made.get("metadata"), dict):
            self._name_versions(value, metadata, made["metadata"])
        if isinstance(made.get("details"), dict) and len(made["details"].get("causes") or ()) > 1:
            _sort_causes(made)
        fields = made.get("managedFields")
        if isinstance(fields, list) and all(isinstance(entry, dict) for entry in fields):
            fields.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
        return made

    def _learn(self, value: dict[str, Any], metadata: dict[str, Any]) -> None:
        version = metadata.get("resourceVersion")
        is_list = "items" in value or "rows" in value or _is_bookmark(value)
        if isinstance(version, str) and version.isdigit() and len(version) > 1 and not is_list:
            self._versions.setdefault(version, f"RV{len(self._versions) + 1}")

    def _name_versions(self, value: dict[str, Any], metadata: dict[str, Any], made: dict[str, Any]) -> None:
        if "items" in value or "rows" in value or _is_bookmark(value):
            version = str(metadata.get("resourceVersion", ""))
            if version:
                made["resourceVersion"] = "LISTRV" if version.isdigit() else version
            if metadata.get("continue"):
                made["continue"] = _continue(metadata["continue"])
        elif value.get("kind") == "Status" and metadata.get("continue"):
            made["continue"] = _continue(metadata["continue"])

    def _without_computed(self, value: dict[str, Any]) -> dict[str, Any]:
        definitions = value.get("columnDefinitions")
        if not self._computed or "rows" not in value:
            return value
        if isinstance(definitions, list) and definitions:
            # On a watch only the first table names its columns.
            self._columns = [column.get("name") for column in definitions]
        return {**value, "rows": [self._row(row) for row in value["rows"] or []]}

    def _without_initial(self, value: dict[str, Any]) -> dict[str, Any]:
        status = value.get("status")
        if not self._initial or not isinstance(status, dict) or value.get("kind") == "Scale":
            return value
        rest = {key: item for key, item in status.items() if self._initial.get(key) != item}
        if rest or not status:
            return {**value, "status": rest}
        return {key: item for key, item in value.items() if key != "status"}

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        named = zip(self._columns, row["cells"], strict=False)
        cells = ["(computed)" if name in self._computed else cell for name, cell in named]
        return {**row, "cells": [*cells, *row["cells"][len(cells) :]]}


def _sort_causes(status: dict[str, Any]) -> None:
    """kube-apiserver validates fields in the random order of a Go map."""
    causes = status["details"]["causes"]
    texts = [f"{cause.get('field')}: {cause.get('message')}" for cause in causes]
    causes.sort(key=lambda cause: json.dumps(cause, sort_keys=True))
    status["message"] = status["message"].replace(", ".join(texts), ", ".join(sorted(texts)))


def _is_bookmark(value: dict[str, Any]) -> bool:
    """A bookmark's object has nothing but its type, a resourceVersion and perhaps an annotation."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return False
    return not metadata.get("name") and not metadata.get("uid")


def _continue(token: str) -> Any:
    try:
        decoded = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, binascii.Error):
        return f"not readable: {token}"
    if isinstance(decoded, dict) and isinstance(decoded.get("rv"), int) and decoded["rv"] > 0:
        decoded["rv"] = "LISTRV"
    if isinstance(decoded, dict) and isinstance(decoded.get("start"), str):
        # Where keys are counted from is the server's own business.
        decoded["start"] = decoded["start"].lstrip("/")
    return decoded
