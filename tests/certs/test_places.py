"""Where certificates are kept: a directory for one machine, a secret for all replicas."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
import sys
from datetime import timedelta

import pytest

from certs import CertDirectory, CertificateError, LockTimeoutError, Policy, Secret, SecretSource
from certs import directory as directory_module
from certs.bundle import split

FILES = {"ca.crt", "ca.key", "ca-bundle.crt", "tls.crt", "tls.key"}


PROGRAM = """
import datetime, pathlib, sys
from certs import CertDirectory, Names
now = datetime.datetime.now(datetime.UTC)
material = CertDirectory(pathlib.Path(sys.argv[1])).ensure(Names("svc", "ns"), now)
sys.stdout.buffer.write(material.ca_bundle_pem + material.cert_pem)
"""


def test_the_directory_holds_private_files_alone(tmp_path, names, clock):
    path = tmp_path / "deep" / "certs"
    CertDirectory(path).ensure(names, clock.now())
    assert {item.name for item in path.iterdir()} == {*FILES, ".lock"}
    assert {item.stat().st_mode & 0o777 for item in path.iterdir()} == {0o600}
    assert path.stat().st_mode & 0o777 == 0o700


def test_who_comes_second_uses_what_the_first_one_made(tmp_path, names, clock):
    first = CertDirectory(tmp_path).ensure(names, clock.now())
    assert CertDirectory(tmp_path).ensure(names, clock.now()) == first


def test_processes_that_come_at_once_agree(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "certs")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    outcomes = {process.communicate(timeout=60)[0] for process in started}
    assert [process.returncode for process in started] == [0] * 4
    assert len(outcomes) == 1
    assert outcomes.pop().startswith(b"-----BEGIN CERTIFICATE-----")


def test_a_lock_that_is_not_given_back_is_not_waited_for_for_ever(tmp_path, names, clock):
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LockTimeoutError):
            CertDirectory(tmp_path, lock_wait=0).ensure(names, clock.now())


@pytest.mark.parametrize("survived", range(5))
def test_a_crash_between_two_files_is_repaired(tmp_path, names, policy, clock, monkeypatch, survived):
    """The authority is due: all five files are written. A crash lets only the first few be."""
    place = CertDirectory(tmp_path, policy=policy)
    before = place.ensure(names, clock.now())
    clock.advance(days=60)
    write, left = directory_module._replace, [survived]

    def crash(path, content):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write(path, content)

    monkeypatch.setattr(directory_module, "_replace", crash)
    with pytest.raises(KeyboardInterrupt):
        place.ensure(names, clock.now())
    monkeypatch.undo()
    after = place.ensure(names, clock.now())
    assert set(split(before.ca_bundle_pem)) <= set(split(after.ca_bundle_pem))
    assert place.ensure(names, clock.now()) == after
    assert after.not_after > clock.now()


def test_a_directory_that_cannot_be_used_is_told(tmp_path, names, clock):
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError, match="cannot be used"):
        CertDirectory(tmp_path / "file" / "certs").ensure(names, clock.now())


def test_a_bundle_that_another_changed_is_not_taken_for_published(tmp_path, names, clock):
    policy = Policy(authority_lifetime=timedelta(days=30), serving_lifetime=timedelta(days=90))
    place = CertDirectory(tmp_path, policy=policy)
    first = place.ensure(names, clock.now())
    clock.advance(days=21)
    second = place.ensure(names, clock.now())
    assert place.finish(names, clock.now(), first.ca_bundle_pem).cert_pem == first.cert_pem
    assert place.finish(names, clock.now(), second.ca_bundle_pem).cert_pem != first.cert_pem


class Store:
    """A secret under optimistic concurrency, as the API server keeps it; lets others run at each step."""

    def __init__(self) -> None:
        self.secret: Secret | None = None
        self.writes = 0

    async def get(self):
        await asyncio.sleep(0)
        return self.secret

    async def create(self, data):
        await asyncio.sleep(0)
        return None if self.secret else self._put(data)

    async def update(self, data, resource_version):
        await asyncio.sleep(0)
        if self.secret is None or self.secret.resource_version != resource_version:
            return None
        return self._put(data)

    def _put(self, data):
        self.writes += 1
        self.secret = Secret(dict(data), str(self.writes))
        return self.secret


async def test_replicas_that_start_at_once_share_one_authority(names, clock):
    store = Store()
    sources = [SecretSource(store, names) for _ in range(5)]
    materials = await asyncio.gather(*(source.load(clock.now()) for source in sources))
    assert len(set(materials)) == 1
    assert store.writes == 1
    assert set(store.secret.data) == FILES


async def test_other_data_of_the_secret_is_left_alone(names, clock):
    store = Store()
    store.secret = Secret({"note": b"mine"}, "0")
    await SecretSource(store, names).load(clock.now())
    assert store.secret.data["note"] == b"mine"
    assert set(store.secret.data) == {*FILES, "note"}


async def test_replicas_rotate_together(names, clock):
    policy = Policy(authority_lifetime=timedelta(days=30), serving_lifetime=timedelta(days=90))
    store = Store()
    one, two = (SecretSource(store, names, policy=policy) for _ in range(2))
    first = await one.load(clock.now())
    clock.advance(days=21)
    both = await asyncio.gather(one.load(clock.now()), two.load(clock.now()))
    assert both[0] == both[1]
    assert both[0].cert_pem == first.cert_pem
    bundle = both[0].ca_bundle_pem
    assert len(split(bundle)) == 2
    done = await asyncio.gather(one.finish(clock.now(), bundle), two.finish(clock.now(), bundle))
    assert done[0] == done[1]
    assert done[0].cert_pem != first.cert_pem


async def test_a_secret_that_never_holds_still_is_given_up(names, clock):
    class Restless(Store):
        async def create(self, data):
            return None

    with pytest.raises(CertificateError, match="in a row"):
        await SecretSource(Restless(), names).load(clock.now())
