"""Objects into bytes: compact JSON, indented JSON, YAML."""

from __future__ import annotations

from typing import Any

import orjson
import yaml

from apiserver.machinery.codec.yaml_scalar import resolve


def encode(value: Any) -> bytes:
    """Compact JSON; the order of keys is kept."""
    return orjson.dumps(value)


def encode_pretty(value: Any) -> bytes:
    """JSON indented by two spaces, as kube-apiserver gives it to people."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


class _Dumper(yaml.CSafeDumper):
    """Quotes every string that a YAML reader of Kubernetes would take for something else."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _represent_str(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if not isinstance(resolve(text), str) or text in ("<<", "="):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_str)


def encode_yaml(value: Any) -> bytes:
    """YAML in block style with sorted keys, as kube-apiserver writes it."""
    dumped: bytes = yaml.dump(
        value, Dumper=_Dumper, encoding="utf-8", allow_unicode=True, sort_keys=True, width=1 << 20
    )
    return dumped
