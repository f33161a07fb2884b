"""The front door, as a user of the shell sees it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from apiserver import cli


def test_help_lists_every_command(capsys):
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(
        f"  {name}" in out for name in ("serve", "dev", "install", "uninstall", "manifests", "version")
    )


@pytest.mark.parametrize("command", ["serve", "dev", "install", "uninstall", "manifests", "version"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main([command, "--help"])
    assert caught.value.code == 0
    assert f"usage: inference-apiserver {command}" in capsys.readouterr().out


def test_no_command_is_a_usage_error(capsys):
    assert cli.main([]) == 2
    assert "usage:" in capsys.readouterr().err


def test_an_unknown_command_is_told_in_one_line(capsys):
    assert cli.main(["explode"]) == 2
    assert capsys.readouterr().err == (
        'inference-apiserver: there is no command "explode"; inference-apiserver --help lists them\n'
    )


def test_bad_flags_are_told_one_a_line_and_nothing_starts(capsys):
    assert cli.main(["serve", "--secure-port=x", "--bogus"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "inference-apiserver serve: unknown flag or argument: --bogus",
        "inference-apiserver serve: --etcd-servers: must be given with --storage=etcd",
        'inference-apiserver serve: --secure-port: "x" is not a whole number',
    ]


def test_manifests_prints_yaml(capsys):
    assert cli.main(["manifests", "--namespace=elsewhere"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("---\n")
    assert "namespace: elsewhere" in out


def test_version_and_help_load_nothing_heavy():
    code = (
        "import sys; from apiserver import cli; cli.main(['version']); cli.main(['--help']);"
        "heavy = {'fastapi', 'uvicorn', 'pydantic', 'grpc', 'kubernetes', 'cryptography', 'asyncio'};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("v")
