"""The front door: `inference-apiserver COMMAND [flags]`.

Imports what a command needs when it is given, so that help and version answer at once.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence

from apiserver.flags import OptionsError

PROG = "inference-apiserver"
USAGE_ERROR = 2

Command = Callable[[str, Sequence[str]], int]


def _serve(prog: str, arguments: Sequence[str]) -> int:
    from apiserver.options import serve_config

    config = serve_config(prog, arguments)
    _end_on_signals()
    from apiserver.run import serve

    return serve(config)


def _dev(prog: str, arguments: Sequence[str]) -> int:
    from apiserver.options import dev_config

    config = dev_config(prog, arguments)
    _end_on_signals()
    from apiserver.run import dev

    return dev(config)


def _install(prog: str, arguments: Sequence[str]) -> int:
    from apiserver.deploy_options import install_options

    options = install_options(prog, arguments)
    import asyncio

    from deploy.install import install

    return asyncio.run(install(options, _report))


def _uninstall(prog: str, arguments: Sequence[str]) -> int:
    from apiserver.deploy_options import uninstall_options

    options = uninstall_options(prog, arguments)
    import asyncio

    from deploy.uninstall import uninstall

    return asyncio.run(uninstall(options, _report))


def _manifests(prog: str, arguments: Sequence[str]) -> int:
    from apiserver.deploy_options import manifest_options

    options = manifest_options(prog, arguments)
    from deploy.manifests import manifests

    sys.stdout.write(manifests(options))
    return 0


def _version(prog: str, arguments: Sequence[str]) -> int:
    from apiserver.flags import Parser
    from apiserver.release import version_info

    Parser(prog, "Print the version.").read(arguments).check()
    info = version_info()
    sys.stdout.write(f"{info['gitVersion']} ({info['goVersion']}, {info['platform']})\n")
    return 0


COMMANDS: dict[str, tuple[str, Command]] = {
    "serve": ("serve the API beside a cluster", _serve),
    "dev": ("serve everything on this machine, without a cluster", _dev),
    "install": ("bring the server into a cluster, or register one outside of it", _install),
    "uninstall": ("take the server out of a cluster", _uninstall),
    "manifests": ("print what install would apply, as YAML", _manifests),
    "version": ("print the version", _version),
}


def usage() -> str:
    """The overview of all commands."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {text}" for name, (text, _) in COMMANDS.items()]
    listed = "\n".join(lines)
    return f"usage: {PROG} COMMAND [flags]\n\ncommands:\n{listed}\n\n{PROG} COMMAND --help tells its flags.\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code: 0 if all went well, 2 for a command line that cannot be followed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in {"-h", "--help", "help"}:
        (sys.stdout if given else sys.stderr).write(usage())
        return 0 if given else USAGE_ERROR
    name, *rest = given
    if name == "--version":
        name = "version"
    if name not in COMMANDS:
        return _refuse(PROG, [f'there is no command "{name}"; {PROG} --help lists them'])
    prog = f"{PROG} {name}"
    try:
        return COMMANDS[name][1](prog, rest)
    except OptionsError as error:
        return _refuse(prog, error.errors)


def _end_on_signals() -> None:
    """Until the server takes signals into its own hands, one ends the process: nothing has begun."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))


def _refuse(prog: str, errors: Sequence[str]) -> int:
    for error in errors:
        sys.stderr.write(f"{prog}: {error}\n")
    return USAGE_ERROR


def _report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
