"""The rules of rotation, and the loop that follows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import CertDirectory, CertificateError, GivenFiles, KeyPair, Names, Policy, PublishError, Rotator
from certs.authority import is_issued_by
from certs.bundle import split
from certs.rotation import Stored, can_serve, complete, prepare
from certs.serving import covers


def signers(stored: Stored, bundle: bytes) -> list[int]:
    """Places in the bundle of the authorities that signed the serving certificate."""
    certificate = stored.serving.certificate()
    return [index for index, item in enumerate(split(bundle)) if is_issued_by(certificate, item)]


@pytest.fixture
def fresh(names, policy, clock):
    return prepare(Stored(), names, policy, clock.now())


def test_the_first_time_everything_is_made(fresh, names, clock):
    assert signers(fresh, fresh.bundle) == [0]
    assert fresh.bundle == fresh.ca_cert
    assert covers(fresh.serving.certificate(), names)


def test_nothing_changes_while_nothing_is_due(fresh, names, policy, clock):
    clock.advance(days=19)
    assert prepare(fresh, names, policy, clock.now()) is fresh
    assert complete(fresh, names, policy, clock.now()) is fresh


def test_the_serving_certificate_is_renewed_after_two_thirds_of_its_life(fresh, names, policy, clock):
    clock.advance(days=20)
    renewed = prepare(fresh, names, policy, clock.now())
    assert renewed.serving != fresh.serving
    assert renewed.authority == fresh.authority
    assert renewed.serving.certificate().not_valid_after_utc == clock.now() + timedelta(days=30)


def test_a_new_name_renews_it_at_once(fresh, policy, clock):
    names = Names("inference-apiserver", "elsewhere")
    assert covers(prepare(fresh, names, policy, clock.now()).serving.certificate(), names)


def test_a_new_authority_is_trusted_before_it_is_used(fresh, names, policy, clock):
    clock.advance(days=59)
    before = prepare(fresh, names, policy, clock.now())
    clock.advance(days=1)
    between = prepare(before, names, policy, clock.now())
    assert between.authority != before.authority
    assert between.bundle == between.ca_cert + before.ca_cert
    assert between.serving == before.serving
    after = complete(between, names, policy, clock.now())
    assert signers(after, after.bundle) == [0]
    assert after.bundle == between.bundle


def test_a_predecessor_leaves_the_bundle_when_it_expires(fresh, names, policy, clock):
    clock.advance(days=60)
    rotated = complete(prepare(fresh, names, policy, clock.now()), names, policy, clock.now())
    clock.advance(days=29)
    assert len(split(prepare(rotated, names, policy, clock.now()).bundle)) == 2
    clock.advance(days=1)
    assert len(split(prepare(rotated, names, policy, clock.now()).bundle)) == 1


def test_a_lost_authority_key_makes_a_successor_and_keeps_the_trust(fresh, names, policy, clock):
    broken = Stored(fresh.bundle, fresh.ca_cert, b"", fresh.tls_cert, fresh.tls_key)
    clock.advance(hours=1)
    repaired = prepare(broken, names, policy, clock.now())
    assert repaired.authority.is_sound()
    assert repaired.bundle == repaired.ca_cert + fresh.ca_cert
    assert repaired.serving == fresh.serving


def test_a_lost_bundle_is_put_together_again(fresh, names, policy, clock):
    lost = Stored(b"nonsense", fresh.ca_cert, fresh.ca_key, fresh.tls_cert, fresh.tls_key)
    assert prepare(lost, names, policy, clock.now()) == fresh


@pytest.mark.parametrize("part", ["tls_cert", "tls_key"])
def test_a_damaged_serving_certificate_is_made_anew(fresh, names, policy, clock, part):
    damaged = Stored(**{**{name: getattr(fresh, name) for name in fresh.__slots__}, part: b"x"})
    repaired = prepare(damaged, names, policy, clock.now())
    assert repaired.authority == fresh.authority
    assert can_serve(repaired.serving, repaired.bundle, clock.now())


def test_an_expired_serving_certificate_is_replaced_even_before_the_bundle_is_published(
    fresh, names, policy, clock
):
    clock.advance(days=365)
    revived = prepare(fresh, names, policy, clock.now())
    assert can_serve(revived.serving, revived.bundle, clock.now())


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(0.1, 3), st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_whoever_trusts_what_was_published_last_can_always_connect(story):
    """Each step takes days, may fail to publish (though not for longer than six), and may lose the key."""
    names = Names("svc", "ns")
    policy = Policy(authority_lifetime=timedelta(days=70), serving_lifetime=timedelta(days=45))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    stored = prepare(Stored(), names, policy, now)
    published, silent = stored.bundle, 0.0
    for days, publishes, loses_key in story:
        now += timedelta(days=days)
        if loses_key:
            stored = Stored(stored.bundle, stored.ca_cert, b"", stored.tls_cert, stored.tls_key)
        stored = prepare(stored, names, policy, now)
        assert can_serve(stored.serving, published, now)
        silent += days
        if publishes or silent > 6:
            published, silent = stored.bundle, 0.0
            stored = complete(stored, names, policy, now)
            assert is_issued_by(stored.serving.certificate(), stored.authority.certificate())
        assert can_serve(stored.serving, published, now)


class World:
    """Those who trust: keeps what was published, and fails when told to."""

    def __init__(self) -> None:
        self.published: list[bytes] = []
        self.applied: list[bytes] = []
        self.failing = False

    async def publish(self, bundle: bytes) -> None:
        if self.failing:
            raise PublishError("the APIService cannot be written")
        self.published.append(bundle)

    async def apply(self, material) -> None:
        self.applied.append(material.cert_pem)


@pytest.fixture
def world():
    return World()


@pytest.fixture
async def rotator(tmp_path, names, policy, clock, world):
    source = CertDirectory(tmp_path / "certs", policy=policy).bound(names)
    material = await source.load(clock.now())
    return Rotator(source, material, apply=world.apply, publish=world.publish, now=clock.now)


async def test_the_bundle_is_published_and_nothing_else_happens(rotator, world):
    assert await rotator.step()
    assert world.published == [rotator.material.ca_bundle_pem]
    assert world.applied == []


async def test_the_switch_waits_for_one_round_after_the_publication(tmp_path, names, clock, world):
    policy = Policy(authority_lifetime=timedelta(days=30), serving_lifetime=timedelta(days=90))
    source = CertDirectory(tmp_path, policy=policy).bound(names)
    first = await source.load(clock.now())
    rotator = Rotator(source, first, apply=world.apply, publish=world.publish, now=clock.now)
    clock.advance(days=21)
    await rotator.step()
    assert rotator.material.cert_pem == first.cert_pem
    assert len(split(world.published[-1])) == 2
    await rotator.step()
    assert world.applied[-1] == rotator.material.cert_pem != first.cert_pem


async def test_while_nothing_can_be_published_the_old_certificate_stays(tmp_path, names, clock, world):
    policy = Policy(authority_lifetime=timedelta(days=30), serving_lifetime=timedelta(days=90))
    source = CertDirectory(tmp_path, policy=policy).bound(names)
    first = await source.load(clock.now())
    rotator = Rotator(source, first, apply=world.apply, publish=world.publish, now=clock.now)
    clock.advance(days=21)
    world.failing = True
    for _ in range(3):
        assert not await rotator.step()
        assert rotator.material.cert_pem == first.cert_pem
    assert "APIService" in rotator.problem
    world.failing = False
    assert await rotator.step()
    assert await rotator.step()
    assert rotator.problem == ""
    assert rotator.material.cert_pem != first.cert_pem


async def test_a_renewal_needs_no_publication(rotator, world, clock):
    world.failing = True
    clock.advance(days=20)
    assert not await rotator.step()
    assert world.applied == [rotator.material.cert_pem]
    assert rotator.remaining() == timedelta(days=30)


async def test_the_loop_tries_again_sooner_after_a_failure(rotator, world):
    class EnoughError(Exception):
        pass

    pauses = []

    async def pause(seconds):
        pauses.append(seconds)
        world.failing = not world.failing
        if len(pauses) == 3:
            raise EnoughError

    rotator._sleep = pause
    with pytest.raises(EnoughError):
        await rotator.run()
    assert pauses == [60.0, 5.0, 60.0]


async def test_an_unexpected_error_ends_the_loop(rotator):
    async def broken(_bundle):
        raise RuntimeError("a bug")

    rotator._publish = broken
    with pytest.raises(RuntimeError):
        await rotator.run()


async def test_a_round_is_bounded_in_time(rotator):
    import asyncio

    async def hang(_bundle):
        await asyncio.Event().wait()

    rotator._publish, rotator._step_timeout = hang, 0.01
    assert not await rotator.step()
    assert "longer" in rotator.problem


async def test_given_files_are_read_again_when_replaced(tmp_path, fresh, names, policy, clock, world):
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    cert.write_bytes(fresh.tls_cert)
    key.write_bytes(fresh.tls_key)
    source = GivenFiles(cert, key)
    rotator = Rotator(source, await source.load(clock.now()), apply=world.apply, now=clock.now)
    clock.advance(days=20)
    renewed = prepare(fresh, names, policy, clock.now())
    cert.write_bytes(renewed.tls_cert)
    assert not await rotator.step()  # half of it: the pair does not match
    assert world.applied == []
    key.write_bytes(renewed.tls_key)
    assert await rotator.step()
    assert world.applied == [renewed.tls_cert]
    cert.unlink()
    assert not await rotator.step()
    assert rotator.material.cert_pem == renewed.tls_cert


async def test_given_files_that_are_missing_are_told(tmp_path, clock):
    with pytest.raises(CertificateError, match="cannot be read"):
        await GivenFiles(tmp_path / "a", tmp_path / "b").load(clock.now())


def test_a_key_is_never_shown(fresh):
    assert "PRIVATE" not in repr(KeyPair(b"", b"PRIVATE")) + repr(Stored(ca_key=b"PRIVATE"))
