"""Where two normalised answers differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

ABSENT = "(absent)"


@dataclass(frozen=True)
class Mismatch:
    """One place; `path` starts with the number of the step. The whole answers of the step are at hand."""

    path: str
    theirs: Any
    ours: Any
    theirs_answer: dict[str, Any]
    ours_answer: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.path}\n    crd:  {_shown(self.theirs)}\n    ours: {_shown(self.ours)}"


Answers = tuple[dict[str, Any], dict[str, Any]]


def differ(theirs: Any, ours: Any, path: str, answers: Answers) -> Iterator[Mismatch]:
    """Every place where the two differ; booleans and numbers are told apart, integers and floats too."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted({*theirs, *ours}, key=str):
            yield from differ(theirs.get(key, ABSENT), ours.get(key, ABSENT), f"{path}.{key}", answers)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from differ(one, other, f"{path}[{index}]", answers)
    elif type(theirs) is not type(ours) or theirs != ours:
        yield Mismatch(path, theirs, ours, *answers)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 1500 else f"{text[:1500]}… ({len(text)} characters)"
