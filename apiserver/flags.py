"""Flags as text, turned into values. All that is wrong with a command line is found in one go.

Notations are those of Kubernetes' components: Go durations, lists by commas or by repeating the flag,
switches with or without `=true`. It must not know what the flags mean.
"""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn
from urllib.parse import urlsplit

from apiserver.machinery.duration import parse_duration

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_MAX_PORT = 65535


class OptionsError(Exception):
    """A command line that cannot be followed; each of `errors` is one sentence about one flag."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(self.errors))


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag: a `value`, a `list` or a `switch`. `default` is text, as it would be given."""

    name: str
    help: str
    default: str = ""
    kind: Literal["value", "list", "switch"] = "value"
    metavar: str = ""
    aliases: tuple[str, ...] = ()


FlagGroup = tuple[str, Sequence[Flag]]


class Parser(argparse.ArgumentParser):
    """argparse that raises instead of exiting, and takes no abbreviations."""

    def __init__(self, prog: str, description: str, groups: Sequence[FlagGroup] = ()) -> None:
        super().__init__(
            prog,
            f"{prog} [flags]",
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawTextHelpFormatter,
        )
        self._defaults_of_lists = {
            flag.name: flag.default for _, flags in groups for flag in flags if flag.kind == "list"
        }
        for title, flags in groups:
            group = self.add_argument_group(title)
            for flag in flags:
                _add(group, flag)

    def error(self, message: str) -> NoReturn:
        """A mistake in the form of the command line."""
        raise OptionsError([message])

    def read(self, arguments: Sequence[str]) -> Values:
        """The flags given. What is no flag is noted as an error, to be told with the others."""
        namespace, unknown = self.parse_known_args(arguments)
        given = {
            name: self._defaults_of_lists.get(name) if value is None else value
            for name, value in vars(namespace).items()
        }
        return Values(given, [f"unknown flag or argument: {item}" for item in unknown])


def _add(group: argparse._ArgumentGroup, flag: Flag) -> None:
    shown = f" (default {flag.default})" if flag.default else ""
    names = (*flag.aliases, f"--{flag.name}")
    text = (flag.help + shown).replace("%", "%%")
    metavar = flag.metavar or flag.name.rsplit("-", 1)[-1].upper()
    if flag.kind == "switch":
        group.add_argument(*names, dest=flag.name, nargs="?", const="true", default=flag.default, help=text)
    elif flag.kind == "list":
        # The default stays out of argparse: it would be appended to instead of replaced.
        group.add_argument(*names, dest=flag.name, action="append", metavar=f"{metavar},…", help=text)
    else:
        group.add_argument(*names, dest=flag.name, default=flag.default, metavar=metavar, help=text)


class Values:
    """The values of a command line. A reader that finds nonsense notes it and gives the zero value."""

    def __init__(self, raw: Mapping[str, str | list[str] | None], errors: Iterable[str] = ()) -> None:
        self._raw = raw
        self._errors = list(errors)

    def wrong(self, name: str, why: str) -> None:
        """Note what is wrong with a flag."""
        self._errors.append(f"--{name}: {why}")

    def check(self) -> None:
        """Raises OptionsError with everything that is wrong."""
        if self._errors:
            raise OptionsError(self._errors)

    def given(self, name: str) -> bool:
        """Whether the flag has a value that is not empty."""
        return bool(self._raw.get(name))

    def text(self, name: str) -> str:
        """The text itself."""
        value = self._raw.get(name)
        return value if isinstance(value, str) else ""

    def words(self, name: str) -> tuple[str, ...]:
        """The items of a list, in order."""
        value = self._raw.get(name) or ()
        parts = [value] if isinstance(value, str) else value
        return tuple(word.strip() for part in parts for word in part.split(",") if word.strip())

    def switch(self, name: str) -> bool:
        """Whether a switch is on."""
        text = self.text(name)
        if text in _TRUE or text in _FALSE or not text:
            return text in _TRUE
        self.wrong(name, f'"{text}" is neither true nor false')
        return False

    def integer(self, name: str, least: int = 0, most: int = 2**31 - 1) -> int:
        """A whole number."""
        text = self.text(name)
        try:
            number = int(text, 10)
        except ValueError:
            self.wrong(name, f'"{text}" is not a whole number')
            return least
        if not least <= number <= most:
            self.wrong(name, f"{number} is not between {least} and {most}")
            return least
        return number

    def port(self, name: str) -> int:
        """A port; 0 for any that is free."""
        return self.integer(name, 0, _MAX_PORT)

    def seconds(self, name: str, *, positive: bool = True) -> float:
        """A duration, in seconds."""
        text = self.text(name)
        try:
            found = parse_duration(text)
        except ValueError:
            self.wrong(name, f'"{text}" is not a duration such as 60s or 1h30m')
            return 0.0
        if found < 0 or (positive and found == 0):
            self.wrong(name, f'"{text}" must be {"above" if positive else "at least"} 0')
        return found

    def address(self, name: str) -> str:
        """An IP address."""
        text = self.text(name)
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            self.wrong(name, f'"{text}" is not an IP address')
            return ""

    def urls(self, name: str) -> tuple[str, ...]:
        """A list of http and https URLs."""
        found = self.words(name)
        for url in found:
            if not _is_url(url):
                self.wrong(name, f'"{url}" is not a URL such as https://10.0.0.1:2379')
        return found

    def file(self, name: str) -> Path | None:
        """A file that must exist; None when the flag is not given."""
        text = self.text(name)
        if not text:
            return None
        path = Path(text)
        if not path.is_file():
            self.wrong(name, f'there is no file "{text}"')
        return path

    def path(self, name: str) -> Path | None:
        """A path that need not exist yet; None when the flag is not given."""
        return Path(self.text(name)) if self.given(name) else None

    def together(self, *names: str) -> None:
        """All of some flags are given, or none."""
        given = [name for name in names if self.given(name)]
        missing = [name for name in names if not self.given(name)]
        if given and missing:
            listed = ", ".join(f"--{name}" for name in missing)
            self.wrong(given[0], f"must be given together with {listed}")


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.path in {"", "/"}
        return valid and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
